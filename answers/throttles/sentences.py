"""A4 in words: how each throttle is kept, and the progress of moves."""

from collections.abc import Sequence

from answers import formats
from answers.formats import count, instant, mb, percent
from answers.throttles.verdict import COMPLIANT, INEFFECTIVE, LEFT_OVER, NONE, NOT_ENOUGH, OVER_LIMIT, STUCK
from schemas.rows import Row

QUIET = (NONE, NOT_ENOUGH)
"""States that need no action and no sentence."""

WORST_FIRST = (INEFFECTIVE, STUCK, OVER_LIMIT, LEFT_OVER, NOT_ENOUGH, COMPLIANT, NONE)

BEAN_LOW = 0.9
"""A mean of the byte-rate MBean below this share of the measured rate is due to its ramp."""

DIRECTIONS = {"leader": "leader (sent)", "follower": "follower (fetched)"}


def is_bad(row: Row) -> bool:
    """Return whether a throttle needs action."""
    return row["state"] not in (None, COMPLIANT, *QUIET)


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Return the throttles that need action first, then by time and broker."""
    return sorted(rows, key=lambda row: (WORST_FIRST.index(row["state"]), row["since"], row["broker_id"]))


def headline(throttles: Sequence[Row], moves: Sequence[Row]) -> str:
    """Return the sentence about the worst throttle and the newest move."""
    under_way = [row for row in moves if row["state"] == "under_way"]
    moving = f" {_progress(under_way[-1])}" if under_way else ""
    bad = [row for row in worst_first(throttles) if is_bad(row)]
    if bad:
        worst = bad[0]
        more = f" ({len(bad) - 1} more below)" if len(bad) > 1 else ""
        name = f"Broker {worst['broker_id']}, {worst['direction']}"
        return f"{name}: {formats.words(worst['state'])}; {worst['why']}{more}.{moving}"
    compliant = sum(row["state"] == COMPLIANT for row in throttles)
    if compliant:
        return f"{'1 throttle was' if compliant == 1 else f'{compliant} throttles were'} kept.{moving}"
    if any(row["limit_bytes_per_s"] is not None for row in throttles):
        return f"No throttle has enough traffic to judge.{moving}"
    if moves:
        return f"No throttle was set.{moving}" if moving else "No throttle was set; moves are listed below."
    return "No throttle was set and no replica was moved in this span."


def of_throttles(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each throttle with a verdict, and whether the byte-rate MBean misleads."""
    return [_of_throttle(row) for row in worst_first(rows) if row["state"] not in QUIET]


def bad_throttles(rows: Sequence[Row]) -> list[str]:
    """Return the sentences about throttles that need action."""
    return of_throttles([row for row in rows if is_bad(row)])


def _progress(row: Row) -> str:
    to_go = "" if row["bytes_to_go"] is None else f", {mb(row['bytes_to_go'])} MB to go"
    done = f"{count(row['partitions_done'])} of {count(row['partitions'])} partitions done"
    return f"A move is under way: {done}{to_go}."


def _of_throttle(row: Row) -> str:
    name = f"broker {row['broker_id']}, {DIRECTIONS[row['direction']]}"
    return f"{name}: {formats.words(row['state'])}; {row['why']}{_of_bean(row)}"


def _of_bean(row: Row) -> str:
    bean, rate = row["bean_bytes_per_s"], row["rate_bytes_per_s"]
    if bean is None or not rate or row["state"] not in (COMPLIANT, OVER_LIMIT):
        return ""
    if bean < BEAN_LOW * rate:
        return f". The broker's own byte-rate read {mb(bean)} MB/s on average: it ramps up and down over 11 s"
    highest = row["bean_max_bytes_per_s"]
    if highest > 2 * rate:
        return f". The broker's own byte-rate read up to {mb(highest)} MB/s: a burst over too few seconds"
    return ""


def of_moves(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each move: its progress and forecast, or the error of the forecast."""
    return [_of_move(row) for row in rows]


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
        return f"{name}: under way, {moved}, without a forecast of its end{_of_band(row)}"
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
