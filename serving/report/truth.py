"""The ground truth that a lab scenario wrote."""

import json
from datetime import UTC, datetime
from pathlib import Path

from schemas.rows import Row

INSTANTS = ("quiet_since", "injected_at", "ended_at")


def read_truth(path: Path) -> Row:
    """
    Read the ground truth of a lab scenario.

    Raises:
        ValueError: the file is no ground truth; the message names it and what is missing.

    """
    try:
        truth = json.loads(path.read_text(encoding="utf-8"))
        instants = {name: datetime.fromisoformat(truth[name]).astimezone(UTC) for name in INSTANTS}
    except (OSError, KeyError, TypeError, ValueError) as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"{error!r}"
        message = f"{path} is not the ground truth of a lab scenario: {what}; see the lab's truth folder"
        raise ValueError(message) from error
    return {**truth, **instants}
