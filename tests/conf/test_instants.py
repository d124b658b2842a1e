"""Instants and durations as users write them."""

from datetime import UTC, datetime, timedelta

import pytest

from conf.exit_codes import WrongUseError
from conf.instants import TimeRange, duration, instant, time_range

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T08:00Z", datetime(2026, 11, 1, 8, tzinfo=UTC)),
        ("2026-11-01T08:00:00.5-02:00", datetime(2026, 11, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 18, 12, tzinfo=UTC)),
        ("30m", datetime(2026, 11, 25, 11, 30, tzinfo=UTC)),
        ("1w", datetime(2026, 11, 18, 12, tzinfo=UTC)),
    ],
)
def test_an_instant_is_iso_8601_or_an_age(text, expected):
    assert instant(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "", "7", "7 d", "-7d", "999999999w", "0001-01-01T00:00+10:00"])
def test_anything_else_is_refused_with_both_forms(text):
    with pytest.raises(ValueError, match=r"neither an instant .* nor an age"):
        instant(text, NOW)


@pytest.mark.parametrize("text", ["7", "h", "1.5h", "999999999w"])
def test_a_duration_has_a_whole_number_and_a_unit(text):
    with pytest.raises(ValueError, match="duration"):
        duration(text)


def test_both_ends_of_a_time_range_count_back_from_the_same_instant():
    assert time_range("2h", "90m", NOW) == TimeRange(NOW - timedelta(hours=2), NOW - timedelta(minutes=90))
    assert time_range(None, None, NOW) == TimeRange(None, None)


@pytest.mark.parametrize(
    ("since", "until", "message"),
    [
        (
            "yesterday",
            None,
            "--since 'yesterday' is neither an instant (2026-11-01T08:00Z) nor an age (30m, 36h, 7d)",
        ),
        ("7d", "noon", "--until 'noon' is neither an instant (2026-11-01T08:00Z) nor an age (30m, 36h, 7d)"),
        ("90m", "2h", "--since 90m is not before --until 2h"),
        ("2026-11-25T12:00Z", None, "--since 2026-11-25T12:00Z is not before --until now"),
    ],
)
def test_the_error_names_the_option_its_value_and_good_ones(since, until, message):
    with pytest.raises(WrongUseError) as error:
        time_range(since, until, NOW)
    assert str(error.value) == message
