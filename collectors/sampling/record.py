"""The record of the original log levels, on disk before the first level is changed."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from collectors.sampling.errors import SampleError
from conf.atomic_file import write_atomically
from conf.kafka_security import PLAINTEXT, KafkaSecurity

DEBUG = "DEBUG"
NAME = "levels.json"
HISTORY = "samples.jsonl"


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """
    The original level of a logger.

    If it was inherited, restoring removes the logger's own level. The level of root is always set.
    """

    broker: int
    logger: str
    level: str
    is_inherited: bool
    unsure_until: float | None = None
    """
    Set while the change to DEBUG has no answer, since it may still take effect: epoch seconds until which the
    level is checked again; 0 before the broker has answered once. None: the change was answered.
    """


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """Everything that restoring needs; passwords stay in their files."""

    bootstrap_servers: str
    properties: str
    levels: tuple[LoggerLevel, ...]
    security: KafkaSecurity = PLAINTEXT

    def with_levels(self, levels: Sequence[LoggerLevel]) -> "LevelRecord":
        """Return a copy with other levels."""
        return replace(self, levels=tuple(levels))


def write(folder: Path, record: LevelRecord) -> None:
    """Write the record and sync it to disk; remove the file if there are no levels."""
    file = folder / NAME
    if not record.levels:
        file.unlink(missing_ok=True)
        return
    write_atomically(file, json.dumps(asdict(record), indent=2) + "\n", is_synced=True)


def read(folder: Path) -> LevelRecord | None:
    """
    Return the levels that are not restored yet; None if all are restored.

    Raises:
        SampleError: the file is damaged.

    """
    file = folder / NAME
    try:
        content = json.loads(file.read_text())
        levels = tuple(LoggerLevel(**row) for row in content["levels"])
        security = KafkaSecurity(**content.get("security", {}))  # a former version recorded none
        return LevelRecord(content["bootstrap_servers"], content["properties"], levels, security)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        message = (
            f"{file} cannot be read ({error!r}): delete it, then run `plumbline sample --restore "
            "--bootstrap-server HOST:PORT`, with each --logger of the sample"
        )
        raise SampleError(message) from error


def append_history(folder: Path, line: dict[str, object]) -> None:
    """Append a line to the history: which brokers logged at DEBUG, since when and until when."""
    with (folder / HISTORY).open("a") as opened:
        opened.write(json.dumps(line) + "\n")
