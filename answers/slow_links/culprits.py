"""A2: findings over time from the culprit of each window, and the sentence that names who is slow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median

from answers.answer import Headline
from answers.formats import capital
from answers.listing import Listing, count, decimal, interval, milliseconds, text
from answers.next_steps.culprits import of_culprit
from answers.slow_links.round_trips import pair_rows
from schemas.rows import Row

WINDOW = timedelta(seconds=10)
ACCUSED = frozenset({"broker", "follower_side", "leader_side", "link", "ambiguous"})
FULL = 0.6
"""A window with a smaller share of the median effect also contains quiet time."""

SHAPE = ("culprit", "broker_id", "follower_id", "leader_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Consecutive windows with a culprit; the shape with the most evidence names it."""

    since: datetime
    until: datetime  # end of the last window of `core`
    named_until: datetime  # end of the last accused window: a name lingers for up to two windows
    core: tuple[datetime, ...]  # starts of the windows that show the effect in full
    row: Row  # the window of the shape with the median effect
    effect_ms: float | None  # of all windows together, if `basis` is not empty; else of `row`
    last: Row  # the shape's last window: its evidence has added up
    windows: int
    is_open: bool  # it lasts to the end of the judged windows
    basis: str = ""  # a sentence: how the effect of all windows was computed


def findings(
    culprits: Sequence[Row], accused: Sequence[Row] = (), quiet: Sequence[Row] = ()
) -> list[Finding]:
    """
    Return the findings of a cluster: its neighbouring windows with a culprit, joined.

    `accused` and `quiet` are the pairs' round trips in the finding to report first and outside of all
    findings. With them, the effect of this finding is that of all its windows.

    A window without enough data does not end a finding. A window with `none` does, except a single one before
    a window with the same shape.
    """
    stretches: list[list[Row]] = []
    since_last = 0  # windows with `none` after the last accused one
    for row in sorted(culprits, key=lambda row: row["window_start"]):
        if row["culprit"] in ACCUSED:
            is_next = since_last == 0 or (since_last == 1 and _may_be_same(stretches[-1][-1], row))
            if not stretches or not is_next:
                stretches.append([])
            stretches[-1].append(row)
            since_last = 0
        elif row["culprit"] == "none" and stretches:
            since_last += 1
    found = [
        _finding(rows, is_running=since_last == 0 and nth == len(stretches))
        for nth, rows in enumerate(stretches, start=1)
    ]
    chief, pairs = chief_of(found), pair_rows(accused, quiet)
    return [_with_effect_of_all(one, pairs) if one is chief else one for one in found]


def windows_of(found: Sequence[Finding]) -> list[datetime]:
    """Return the windows of findings, with those in which a name lingers; all others are quiet."""
    windows = []
    for one in found:
        at = one.since
        while at < one.named_until:
            windows.append(at)
            at += WINDOW
    return windows


def _may_be_same(earlier: Row, later: Row) -> bool:
    """Return whether two accusations have the same shape; a tie may have any."""
    return "ambiguous" in (earlier["culprit"], later["culprit"]) or shape(earlier) == shape(later)


def _finding(rows: list[Row], *, is_running: bool) -> Finding:
    # A named shape outweighs the tie it was part of in its first windows.
    strongest = max(rows, key=lambda row: (row["culprit"] != "ambiguous", row.get("evidence") or 0.0))
    same = [row for row in rows if shape(row) == shape(strongest)]
    middle = sorted(same, key=_effect_ms)[len(same) // 2]
    typical_ms = _effect_ms(middle)
    full_ms = min(typical_ms, FULL * typical_ms)  # a level that went on rising leaves effects below 0
    core = [row for row in rows if _effect_ms(row) >= full_ms]
    return Finding(
        since=min(row.get("since") or row["window_start"] for row in same),
        until=core[-1]["window_start"] + WINDOW,
        named_until=rows[-1]["window_start"] + WINDOW,
        core=tuple(row["window_start"] for row in core),
        row=middle,
        effect_ms=middle.get("effect_ms"),
        last=same[-1],
        windows=len(rows),
        is_open=is_running and core[-1] is rows[-1],
    )


def _effect_ms(row: Row) -> float:
    return row.get("effect_ms") or 0.0


def shape(row: Row) -> tuple[str | int | None, ...]:
    """Return what distinguishes two accusations."""
    tied = row.get("tied") or []
    return (*(row.get(name) for name in SHAPE), *sorted(who(part) for part in tied))


def chief_of(found: Sequence[Finding]) -> Finding | None:
    """Return the finding to report first: the open one, else the strongest past one."""
    return max(found, key=lambda one: (one.is_open, one.last.get("evidence") or 0.0), default=None)


def headline(culprits: Sequence[Row], accused: Sequence[Row] = (), quiet: Sequence[Row] = ()) -> Headline:
    """
    Return the sentence that names who is slow, with its evidence.

    `accused` and `quiet` are those of `findings`.
    """
    found = findings(culprits, accused, quiet)
    if chief := chief_of(found):
        mood = "unsure" if chief.row["culprit"] == "ambiguous" else "alarm"
        others = [_other(one) for one in found if one is not chief]
        evidence = [*evidence_of(chief), *others]
        return Headline(sentence=sentence(chief), mood=mood, evidence=evidence, steps=of_culprit(chief.row))
    judged = [row for row in culprits if row["culprit"] == "none"]
    if judged:
        coverage = f"{_count(len(judged), 'window')} of 10 s judged, {len(culprits) - len(judged)} left open."
        return Headline(sentence="No broker, side or link stands out.", mood="calm", evidence=[coverage])
    why = _why_not(culprits)
    return Headline(sentence="Not enough data to say who is slow.", mood="unsure", evidence=[why])


def _with_effect_of_all(finding: Finding, pairs: Sequence[Row]) -> Finding:
    """Return a finding with how much more its pairs rose than the others, at one quantile."""
    rows = [row for row in pairs if row["method"] == finding.row.get("method") and row["rise_ms"] is not None]
    inside = [row for row in rows if is_accused(finding.row, row["follower_id"], row["leader_id"])]
    if not inside:
        return finding
    outside = [row["rise_ms"] for row in rows if row not in inside]
    effect_ms = median(row["rise_ms"] for row in inside) - (median(outside) if outside else 0.0)
    basis = (
        f"{effect_ms:.1f} ms: {inside[0]['estimator']} of {min(row['n'] for row in inside)} round trips "
        "per pair in the windows that show it in full, less its quiet level and less the rise of the other "
        "pairs."
    )
    return replace(finding, effect_ms=effect_ms, basis=basis)


def sentence(finding: Finding) -> str:
    """Return a finding in words: who, by how much, since when."""
    row, effect_ms = finding.row, finding.effect_ms
    amount = "" if effect_ms is None else f" by {effect_ms:.1f} ms"
    be = "is" if finding.is_open else "was"
    when = (
        f"since {clock(finding.since)} UTC"
        if finding.is_open
        else f"from {clock(finding.since)} to {clock(finding.until)} UTC"
    )
    if row["culprit"] == "ambiguous":
        who_may_be = " or ".join(who(part) for part in row.get("tied") or []) or "more than one shape"
        return f"Something {be} slow{amount} {when}, but the data cannot tell which: {who_may_be}."
    return f"{capital(who(row))} {be} slow{amount} {when}."


def who(part: Row) -> str:
    """Return the name of a shape: a broker, one of its sides, or one link."""
    broker = part.get("broker_id")
    return {
        "broker": f"broker {broker}",
        "follower_side": f"broker {_or(part, 'follower_id')}'s fetching side",
        "leader_side": f"broker {_or(part, 'leader_id')}'s serving side",
        "link": f"broker {part.get('follower_id')}'s link to broker {part.get('leader_id')}",
        "none": "no culprit",
    }.get(str(part.get("culprit")), "something else")


def is_accused(row: Row, follower_id: int, leader_id: int) -> bool:
    """Return whether a pair belongs to the accused shape, or to one of the tied ones."""
    if row["culprit"] == "ambiguous":
        return any(is_accused(part, follower_id, leader_id) for part in row.get("tied") or [])
    return {
        "broker": row.get("broker_id") in (follower_id, leader_id),
        "follower_side": follower_id == _or(row, "follower_id"),
        "leader_side": leader_id == _or(row, "leader_id"),
        "link": (follower_id, leader_id) == (row.get("follower_id"), row.get("leader_id")),
    }.get(row["culprit"], False)


def clock(instant: datetime) -> str:
    """Return the time of day in UTC."""
    return instant.astimezone(UTC).strftime("%H:%M:%S")


def windows_in_full(finding: Finding) -> str:
    """Return in words the windows that figures of a finding cover; those of its onset can be left out."""
    be = "shows" if len(finding.core) == 1 else "show"
    return f"the {_core(finding)} that {be} the finding in full{_onset(finding)}"


def _core(finding: Finding) -> str:
    between = f"between {clock(finding.core[0])} and {clock(finding.core[-1] + WINDOW)} UTC"
    return f"{_count(len(finding.core), 'window')} of 10 s {between}"


def _onset(finding: Finding) -> str:
    return f" (its onset, {clock(finding.since)}, is earlier)" if finding.since < finding.core[0] else ""


def evidence_of(finding: Finding) -> list[str]:
    """Return the evidence of a finding as sentences."""
    row, last = finding.row, finding.last
    low, high = row.get("effect_low_ms"), row.get("effect_high_ms")
    named = f"named in {_count(finding.windows, 'window')} of 10 s"
    in_full = f"shown in full by {_core(finding)}{_onset(finding)}"
    lines = [
        *([finding.basis] if finding.basis else []),
        f"On {finding.since.astimezone(UTC):%Y-%m-%d}, {named}; {in_full}.",
    ]
    if row["culprit"] == "link":
        lines.append(f"Follower {row['follower_id']} fetches from leader {row['leader_id']}.")
    if low is not None and high is not None:
        lines.append(f"In its median window alone: {low:.1f} to {high:.1f} ms (95 % interval).")
    if last.get("evidence") is not None:
        # The evidence of a window is capped, for all shapes by the same amount: their margin is not capped.
        lines.append(
            f'Log-likelihood ratio against "no culprit": at least {last["evidence"]:.1f}, as each window '
            "counts only up to a limit."
        )
    runner_up = last.get("runner_up")
    if runner_up and runner_up.get("culprit"):
        margin = last.get("runner_up_margin")
        lower = "" if margin is None else f", whose log-likelihood is {margin:.1f} lower (without that limit)"
        lines.append(f"Second-best culprit: {who(runner_up)}{lower}.")
    return [*lines, *_basis(last)]


def _basis(row: Row) -> list[str]:
    measured = {"baseline": row.get("baseline"), "method": row.get("method")}
    against = {"own": "each pair's own quiet history", "peers": "the other pairs of the same window"}
    if not all(measured.values()):
        return []
    pairs = f"{row.get('pairs_seen')} of {row.get('pairs_expected')} pairs"
    return [
        f"Judged on {pairs} ({measured['method']} round trips) against {against.get(str(row['baseline']))}."
    ]


def _other(finding: Finding) -> str:
    return f"Also found: {sentence(finding)}"


def _why_not(culprits: Sequence[Row]) -> str:
    if not culprits:
        return "No window has round trips of broker pairs: is there a request log with fetches of followers?"
    seen = max(row.get("pairs_seen") or 0 for row in culprits)
    wanted = max(row.get("pairs_expected") or 0 for row in culprits)
    windows = _count(len(culprits), "window")
    return f"{windows} of 10 s, at best {seen} of {wanted} pairs with enough round trips."


def _or(part: Row, name: str) -> int | None:
    value = part.get(name)
    return part.get("broker_id") if value is None else value


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(found: Sequence[Finding]) -> list[Row]:
    """Return findings as rows of `FINDINGS`."""
    return [
        {
            "finding": sentence(one),
            "windows": one.windows,
            "effect_ms": one.effect_ms,
            **{name: one.row.get(name) for name in ("effect_low_ms", "effect_high_ms")},
            "evidence": one.last.get("evidence"),
        }
        for one in found
    ]


FINDINGS = Listing(
    name="findings",
    title="All findings of the span",
    columns=(
        text("finding", "finding", style="path"),
        count("10 s windows", "windows"),
        milliseconds("effect ms", "effect_ms"),
        interval("95 % interval ms", "effect_low_ms", "effect_high_ms"),
        decimal("log-likelihood ratio", "evidence"),
    ),
    about={
        "effect ms": "Of the first finding to report: of all its windows together. Of others: of the window "
        "with the median effect.",
        "95 % interval ms": "Of the window with the median effect alone.",
        "log-likelihood ratio": 'Against "no culprit". At least this: each window counts only up to a limit.',
    },
)
