"""The file with the thresholds of the culprit."""

import pytest

from conf.exit_codes import WrongUseError
from engine.gold.culprit import LEARNT, thresholds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alarm", "alarms", r"alarm is missing; alarms: unknown key; did you mean 'alarm'\?"),
        ("memory_windows = 30", "memory_windows = 3.5", "memory_windows = 3.5: must be a valid integer"),
    ],
)
def test_a_wrong_threshold_is_named(tmp_path, old, new, message):
    path = tmp_path / "culprit.toml"
    path.write_text(LEARNT.read_text().replace(f"\n{old}", f"\n{new}"))

    with pytest.raises(WrongUseError, match=message):
        thresholds(path)
