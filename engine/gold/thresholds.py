"""The thresholds of the culprit, from the file that `make verify` writes."""

from pathlib import Path

from conf.documents import checked, read_toml
from conf.settings import PROJECT
from transforms.gold.broker_rtt.shapes import Thresholds

LEARNT = PROJECT / "conf" / "culprit.toml"


def thresholds(path: Path = LEARNT) -> Thresholds:
    """Return the learnt thresholds; a wrong, missing or unknown key is a `WrongUseError`."""
    return checked(Thresholds, read_toml(path), path)
