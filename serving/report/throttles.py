"""What the report says of throttles and moves of replicas, in sentences."""

from collections.abc import Sequence

from schemas.rows import Row
from serving.report.answers import NONE, Answers
from serving.report.page_text import count, instant, percent

QUIET = ("none", "not_enough_data")
"""States that nobody has to act on."""

WORST_FIRST = ("ineffective", "stuck", "over_limit", "left_over", "not_enough_data", "compliant", "none")

BEAN_LOW = 0.9
"""A mean of the bean below so much of the measured rate is its ramp, and is said."""

LIMITED_NAMES = {"leader": "sent", "follower": "fetched"}


def mb(value: float | None) -> str:
    """
    Write bytes as megabytes (10^6); a dash for NULL.

    >>> mb(5242880), mb(400_000), mb(1_250_000_000)
    ('5.24', '0.40', '1,250')
    """
    if value is None:
        return NONE
    return f"{value / 1e6:,.2f}" if abs(value) < 1e8 else f"{value / 1e6:,.0f}"  # noqa: PLR2004 (100 MB)


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Put first what somebody has to act on, then by time and broker; what has no limit and no state last."""
    return sorted(rows, key=lambda row: (WORST_FIRST.index(row["state"]), row["since"], row["broker_id"]))


def said_of_throttles(answers: Answers) -> list[str]:
    """Say of each throttle how it was kept, and where the broker's own byte-rate misleads."""
    rows = [row for row in worst_first(answers.throttle_compliance) if row["state"] not in QUIET]
    return [_of_throttle(row) for row in rows]


def _of_throttle(row: Row) -> str:
    name = f"broker {row['broker_id']}, {row['direction']} ({LIMITED_NAMES[row['direction']]})"
    return f"{name}: {row['state'].replace('_', ' ')}; {row['why']}{_of_bean(row)}"


def _of_bean(row: Row) -> str:
    bean, rate = row["bean_bytes_per_s"], row["rate_bytes_per_s"]
    if bean is None or not rate or row["state"] not in ("compliant", "over_limit"):
        return ""
    if bean < BEAN_LOW * rate:
        return f". The broker's own byte-rate read {mb(bean)} MB/s on average: it ramps up and down over 11 s"
    highest = row["bean_max_bytes_per_s"]
    if highest > 2 * rate:
        return f". The broker's own byte-rate read up to {mb(highest)} MB/s: a burst over too few seconds"
    return ""


def said_of_moves(answers: Answers) -> list[str]:
    """Say of each move how far it is, and when it is done, or how well that was forecast."""
    return [_of_move(row) for row in answers.reassignment_progress]


def _of_move(row: Row) -> str:
    name = f"move of {instant(row['moved_at'])} ({count(row['partitions'])} partitions)"
    moved = f"{mb(row['bytes_moved'])} MB at {mb(row['rate_bytes_per_s'])} MB/s"
    if row["state"] == "done":
        error = row["forecast_error"]
        forecast = (
            f"; half-way its end was forecast {percent(abs(error))} {_side(error)}"
            if error is not None
            else ""
        )
        return f"{name}: done at {instant(row['ended_at'])}, {moved}{forecast}{_of_kip(row)}"
    if row["state"] == "superseded":
        return f"{name}: given up at {instant(row['ended_at'])}, {moved}"
    if row["forecast_end_at"] is None:
        return f"{name}: under way, {moved}, and no end can be told{_of_band(row)}"
    until = instant(row["forecast_high_at"]) if row["forecast_high_at"] else "no sure end"
    span = f" ({instant(row['forecast_low_at'])} to {until})" if row["forecast_low_at"] else ""
    to_go = f"{mb(row['bytes_to_go'])} MB to go, done about {instant(row['forecast_end_at'])}{span}"
    return f"{name}: under way, {moved}, {to_go}{_of_kip(row)}{_of_band(row)}"


def _side(error: float) -> str:
    return "too late" if error > 0 else "too early"


def _of_kip(row: Row) -> str:
    error = row["kip_error"]
    return f"; KIP-73's formula {percent(abs(error))} {_side(error)}" if error is not None else ""


def _of_band(row: Row) -> str:
    if row["is_in_band"] is False:
        return "; the throttle lies outside IN < T < N - IN/R"
    return ""
