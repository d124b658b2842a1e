"""The options of a comparison, read and checked before any work."""

import re
from dataclasses import dataclass
from pathlib import Path

from conf.exit_codes import WrongUseError
from verdicts.comparison import ComparisonRequest
from verdicts.metrics import METRICS
from verdicts.verdict import VerdictRule

SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSource:
    """Where runs are read from."""

    folder: Path | None
    conf: list[Path]
    nodes: dict[str, str]
    time_zone: str
    cluster: str | None
    scenario: str | None
    is_saved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where the comparison is written to, beside the terminal."""

    html: Path | None
    json: Path | None
    markdown: Path | None


def asked_of(
    baseline: str, contender: str, metrics: list[str], tolerance: str, *, is_unpaired: bool
) -> ComparisonRequest:
    """
    Check what is to be compared.

    Raises:
        WrongUseError: the arms are one, or there is no such metric or tolerance.

    """
    if baseline == contender:
        message = f"both arms are {baseline!r}: name two"
        raise WrongUseError(message)
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        message = f"--metric {unknown[0]!r} is none; there are: {', '.join(METRICS)}"
        raise WrongUseError(message)
    rule = VerdictRule(tolerance=share_of(tolerance))
    return ComparisonRequest(
        baseline=baseline, contender=contender, metrics=tuple(metrics), rule=rule, is_unpaired=is_unpaired
    )


def layout_of(folder: Path, wanted: ComparisonRequest) -> str:
    """Return which files a comparison needs in its folder."""
    first, second = (folder / arm / "1.txt" for arm in (wanted.baseline, wanted.contender))
    what = "the output of kafka-producer-perf-test, one file per run in a folder per arm"
    return f"needed is {what}: {first}, {second}"


def share_of(text: str) -> float:
    """
    Read a tolerance.

    >>> share_of("5%"), share_of("0.05"), share_of("2.5 %")
    (0.05, 0.05, 0.025)
    """
    found = SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 < share < 1:
        message = f"--tolerance {text!r} is no share between 0 and 1, as in 5% or 0.05"
        raise WrongUseError(message)
    return share


def check_targets(*targets: Path | None) -> None:
    """
    Check that the targets can be written.

    Raises:
        WrongUseError: a target is a folder.

    """
    for target in targets:
        if target is not None and target.is_dir():
            message = f"{target} is a folder; name the file to write"
            raise WrongUseError(message)
