"""What the levels were before: written, and on disk, before the first of them is changed."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from collectors.sampling.errors import SampleError

DEBUG = "DEBUG"
NAME = "levels.json"
HISTORY = "samples.jsonl"


@dataclass(frozen=True, slots=True)
class Before:
    """The level a logger had; one that had its parent's is given back to its parent."""

    broker: int
    logger: str
    level: str
    is_inherited: bool


@dataclass(frozen=True, slots=True)
class Record:
    """All that is needed to restore; passwords stay in the file of properties."""

    bootstrap_servers: str
    properties: str
    levels: tuple[Before, ...]

    def with_levels(self, levels: Sequence[Before]) -> "Record":
        """Give the same with other levels."""
        return Record(self.bootstrap_servers, self.properties, tuple(levels))


def written(folder: Path, record: Record) -> None:
    """Write the record so that it outlives the machine; without levels it is removed."""
    file = folder / NAME
    if not record.levels:
        file.unlink(missing_ok=True)
        return
    draft = folder / f".{NAME}.draft"
    with draft.open("w") as opened:
        opened.write(json.dumps(asdict(record), indent=2) + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    _sync(folder)


def read(folder: Path) -> Record | None:
    """
    Read what is not restored yet, None when all is.

    Raises:
        SampleError: the file is damaged.

    """
    file = folder / NAME
    try:
        told = json.loads(file.read_text())
        levels = tuple(Before(**row) for row in told["levels"])
        return Record(told["bootstrap_servers"], told["properties"], levels)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        message = f"{file} cannot be read ({error!r}): set the loggers it names by hand, then delete it"
        raise SampleError(message) from error


def noted(folder: Path, line: dict[str, object]) -> None:
    """Add a line to the list of samples: which brokers logged from when until when."""
    with (folder / HISTORY).open("a") as opened:
        opened.write(json.dumps(line) + "\n")


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
