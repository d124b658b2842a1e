"""The options of a report, read and checked before any work."""

from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from conf.exit_codes import WrongUseError
from conf.instants import TimeRange
from schemas.rows import Row
from serving.report.truth import read_truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The input and the outputs of a report."""

    folder: Path | None
    conf: list[Path]
    html: Path | None
    json: Path | None
    nodes: dict[str, str]
    time_zone: str
    cluster: str | None
    span: TimeRange
    truth: Row | None
    network_bytes_per_s: float | None = None
    has_tables: bool = False


def nodes_of(options: list[str]) -> dict[str, str]:
    """
    Read `PATTERN=ID` options; the ID ends in the broker's number.

    >>> nodes_of(["*/east/*=1", "kafka-b=broker-2"])
    {'*/east/*': '1', 'kafka-b': 'broker-2'}
    """
    nodes = {}
    for option in options:
        pattern, sign, node = option.rpartition("=")
        if not (pattern and sign and node[-1:].isdecimal()):
            message = (
                f"--node {option!r} is not PATTERN=ID with an ID that ends in a number, as in 'east/*=1'"
            )
            raise WrongUseError(message)
        nodes[pattern] = node
    return nodes


def zone_of(name: str) -> str:
    """Check the name of a zone."""
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"--time-zone {name!r} is no zone; give an IANA name, as in Europe/Berlin"
        raise WrongUseError(message) from error


def truth_of(path: Path | None) -> Row | None:
    """Read the ground truth of a scenario, if there is one."""
    try:
        return read_truth(path) if path else None
    except ValueError as error:
        raise WrongUseError(str(error)) from error
