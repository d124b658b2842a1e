"""The thresholds of the culprit, from the file that `make verify` writes."""

import tomllib
from pathlib import Path

from conf.settings import PROJECT
from transforms.gold.broker_rtt.shapes import Thresholds

LEARNT = PROJECT / "conf" / "culprit.toml"


def thresholds(path: Path = LEARNT) -> Thresholds:
    """
    Read the learnt thresholds.

    Raises:
        ValueError: a key is missing or unknown; the message names the file.

    """
    try:
        return Thresholds(**tomllib.loads(path.read_text()))
    except (TypeError, tomllib.TOMLDecodeError) as error:
        message = f"{path}: not the thresholds of a culprit: {error}"
        raise ValueError(message) from error
