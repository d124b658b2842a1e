"""Incidents: what the other answers found, each with its time, its effect and what to do next."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from answers import formats, listing
from answers.clients import UNNAMED, version_of
from answers.data_quality import counts as data_quality
from answers.formats import capital, count, mb, ms, percent, printable
from answers.gold import contents
from answers.gold.relations import FIRST
from answers.gold.selection import WINDOW, GoldSelection
from answers.leader_redirects import redirects as leader_redirects
from answers.listing import Listing
from answers.metadata_lookups import lookups as metadata_lookups
from answers.next_steps.clients import of_lookups, of_redirect, partitions_of
from answers.next_steps.culprits import of_culprit
from answers.next_steps.lines import of_failed_rule, of_misplaced, of_quarantine
from answers.next_steps.steps import NextStep, look_closer, with_settings
from answers.next_steps.throttles import of_throttle
from answers.produce_held import hurt
from answers.slow_links.accusation import accusation
from answers.slow_links.culprits import SHAPE, clock, evidence_of, sentence
from answers.throttles.limits import limits
from answers.throttles.sentences import bad_throttles, is_bad
from answers.throttles.verdict import INEFFECTIVE, LEFT_OVER, STUCK, measured
from schemas.rows import Row
from transforms.windows import SETTLE_S

OPEN, ENDED = "open", "ended"

OPEN_FOR = timedelta(seconds=SETTLE_S)
"""An incident that was seen this long before the newest data goes on: a broker's lines may be late."""

MOST_EXAMPLES = 3

MEASURED = {
    "culprit": "Round trips of replica fetches, in windows of 10 s: the time at the follower less the total "
    "of the leader (paired), or the gap between two fetches at the leader (passive). Clocks of two brokers "
    "are not compared. See docs/culprit.md.",
    "throttle": "Bytes of throttled partitions in the request log, over whole periods of the quota; without "
    "a request log, the brokers' counters. See docs/throttles.md.",
    "redirect": "Request logs of the brokers: an error 6 or 74 of the old leader, and no success at another "
    "broker within 60 s. See docs/clients.md.",
    "lookups": "METADATA requests in the brokers' request logs. See docs/clients.md.",
    "lines": "Counts of all lines that were read. See docs/quarantine.md.",
    "failed_rule": "The newest result of plumbline check-quality for each hour. See docs/quality.md.",
}
"""How each kind of incident was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Incident:
    """One incident. `who` and `began` identify it among those of its kind; None began before the span."""

    kind: str
    who: Sequence[object]
    began: datetime | None
    found: str
    since: datetime | None
    until: datetime | None  # None while it goes on
    effect: str
    steps: Sequence[NextStep]
    effect_ms: float | None = None
    evidence: Sequence[str] = ()

    def row(self, selection: GoldSelection) -> Row:
        """Return the incident as a row of `INCIDENTS`."""
        cluster = selection.cluster
        steps = [*self.steps, look_closer(cluster, self.since, self.until)]
        return {
            "incident": self._id(cluster),
            "cluster": cluster,
            "kind": self.kind,
            "found": self.found,
            "since": self.since,
            "until": self.until,
            "effect": self.effect,
            "effect_ms": self.effect_ms,
            "state": OPEN if self.until is None else ENDED,
            "evidence": list(self.evidence),
            "measured": MEASURED[self.kind],
            "next_steps": [with_settings(step, selection.conf) for step in steps],
        }

    def _id(self, cluster: str) -> str:
        """Return the id: kind, beginning and a hash. It has only letters, digits and hyphens."""
        began = self.began and self.began.astimezone(UTC)
        facts = [cluster, self.kind, *self.who, began and began.isoformat()]
        digest = sha256(json.dumps(facts).encode()).hexdigest()[:8]
        words = [self.kind.replace("_", "-"), *([f"{began:%Y%m%d-%H%M%S}"] if began else []), digest]
        return "-".join(words)


def incidents(selection: GoldSelection) -> list[Row]:
    """
    Return one row per incident: open ones first, then the newest.

    `incident` is its id, which stays the same while its end moves. `until` is None while it goes on.
    """
    newest = contents.edges(selection.gold, selection.cluster)["newest"]
    end = selection.until if newest is None else min(selection.until, newest + WINDOW)
    found = [
        *_culprits(selection),
        *_throttles(selection, end),
        *_redirects(selection, end),
        *_lookups(selection, end),
        *_lines(selection),
        *_failed_rules(selection),
    ]
    newest_first = sorted(found, key=lambda one: one.since or FIRST, reverse=True)
    open_first = sorted(newest_first, key=lambda one: one.until is not None)
    return [one.row(selection) for one in open_first]


def incident_of(selection: GoldSelection, incident: str) -> Row | None:
    """Return the incident with an id; None if the selection has none."""
    return next((row for row in incidents(selection) if row["incident"] == incident), None)


def _culprits(selection: GoldSelection) -> Iterator[_Incident]:
    for one in accusation(selection).found:
        row = one.row
        # The shapes of a tie change while its evidence grows.
        is_tie = row["culprit"] == "ambiguous"
        yield _Incident(
            kind="culprit",
            who=[row["culprit"], *(None if is_tie else row[name] for name in SHAPE[1:])],
            began=one.since,
            found=sentence(one),
            since=one.since,
            until=None if one.is_open else one.until,
            effect=f"{ms(one.effect_ms)} ms per round trip",
            effect_ms=one.effect_ms,
            evidence=[*evidence_of(one), *hurt.topics(selection, one)],
            steps=of_culprit(row),
        )


def _throttles(selection: GoldSelection, end: datetime) -> Iterator[_Incident]:
    for row in filter(is_bad, limits(selection)):
        yield _Incident(
            kind="throttle",
            who=[row["broker_id"], row["direction"]],
            began=row["limited_from"],
            found=f"{capital(bad_throttles([row])[0])}.",
            since=row["limited_from"] or row["since"],
            until=_until(row, end),
            effect=_effect_of_throttle(row),
            evidence=_evidence_of_throttle(row),
            steps=of_throttle(row),
        )


def _until(row: Row, end: datetime) -> datetime | None:
    """Return the end of the last window; None if it is near the end of the data."""
    last: datetime = row["until"]
    return last if last < end - OPEN_FOR else None


def _effect_of_throttle(row: Row) -> str:
    if row["state"] == LEFT_OVER:
        return f"set for {count(row['idle_after_s'])} s without a move"
    if row["state"] == STUCK:
        passed, inbound = mb(row["passed_bytes_per_s"]), mb(row["inbound_bytes_per_s"])
        return f"{passed} MB/s replicated, {inbound} MB/s produced"
    if row["state"] == INEFFECTIVE:
        return f"{mb(row['unlisted_bytes'] or row['catching_up_bytes'])} MB without a limit"
    return f"{mb(measured(row))} of {mb(row['limit_bytes_per_s'])} MB/s"


def _evidence_of_throttle(row: Row) -> list[str]:
    periods = f", {count(row['n'])} whole quota periods" if row["n"] else ""
    judged = f"Judged by the {formats.words(row['measured_by'])}{periods}." if row["measured_by"] else ""
    caught_up = f"Replicas that catch up received {mb(row['catching_up_bytes'])} MB."
    return [*filter(None, [judged]), *([caught_up] if row["catching_up_bytes"] else [])]


def _redirects(selection: GoldSelection, end: datetime) -> Iterator[_Incident]:
    for row in leader_redirects.unended(selection, end):
        lost = f"the leader of {partitions_of(row['partitions'])} of topic {printable(row['topic'])}"
        n = len(row["partitions"])
        yield _Incident(
            kind="redirect",
            who=[row["api"], row["client_id"], row["topic"]],
            began=row["since"],
            found=f"{_client(row)} lost {lost} at {clock(row['since'])} UTC and was not served within 60 s.",
            since=row["since"],
            until=row["until"],
            effect=f"{count(n)} partition{'s' * (n > 1)} without a leader",
            evidence=[
                f"{count(row['wasted_requests'])} {row['api']} requests failed at the old leader.",
                "A response named the new leader."
                if row["is_hinted"]
                else "No response named the new leader.",
            ],
            steps=of_redirect(row),
        )


def _lookups(selection: GoldSelection, end: datetime) -> Iterator[_Incident]:
    for row in metadata_lookups.growing(metadata_lookups.lookups(selection)):
        [cost] = metadata_lookups.sentences([row])
        yield _Incident(
            kind="lookups",
            who=[row["client_id"], row["software_version"], row["run"]],
            began=None,
            found=f"{_client(row)} asks for known topics again with each new one.",
            since=row["since"],
            until=_until(row, end),
            effect=f"{count(row['topics_asked'])} topics asked for {count(row['new_topics'])} new ones",
            evidence=[f"{printable(cost)}."],
            steps=of_lookups(row),
        )


def _client(row: Row) -> str:
    return printable(f"Client {row['client_id'] or UNNAMED} ({version_of(row)})")


def _lines(selection: GoldSelection) -> Iterator[_Incident]:
    """Yield the incidents of lines, which have no beginning: the lines of all time are counted."""
    totals = data_quality.totals_of(data_quality.by_source(selection))
    reasons = data_quality.quarantined_by_reason(selection)
    for words in data_quality.many_quarantined(totals, reasons):
        share = totals["quarantined"] / max(totals["lines_read"], totals["quarantined"])
        yield _of_lines(None, words, f"{percent(share)} of the lines are missing", of_quarantine())
    misplaced = data_quality.misplaced(data_quality.misplaced_sources(selection))
    for source, words in misplaced.items():
        yield _of_lines(source, words, "lines counted for another broker", of_misplaced(source))


def _of_lines(source: str | None, words: str, effect: str, steps: Sequence[NextStep]) -> _Incident:
    return _Incident(
        kind="lines",
        who=[source],
        began=None,
        found=f"{printable(words)}.",
        since=None,
        until=None,
        effect=effect,
        steps=steps,
    )


def _failed_rules(selection: GoldSelection) -> Iterator[_Incident]:
    for row in data_quality.failed_rules(selection):
        examples = (row["examples"] or [])[:MOST_EXAMPLES]
        yield _Incident(
            kind="failed_rule",
            who=[row["layer"], row["table_name"], row["rule"]],
            began=None,
            found=f"Rule {row['rule']} of {row['layer']}.{row['table_name']} fails.",
            since=row["since"],
            until=None,
            effect=f"{count(row['rows_failed'])} of {count(row['rows_seen'])} rows",
            evidence=[f"Expected: {row['about']}.", *(f"Example: {printable(one)}" for one in examples)],
            steps=of_failed_rule(row),
        )


INCIDENTS = Listing(
    name="incidents",
    title="Incidents",
    lead="Open incidents first, then the newest.",
    opens=lambda row: ("/incident", {"incident": row["incident"]}),
    columns=(
        listing.text("found", "found", style="path"),
        listing.words("kind", "kind", in_terminal=False),
        listing.instant("from, UTC", "since", in_terminal=False),
        listing.instant("to, UTC", "until", in_terminal=False),
        listing.text("effect", "effect", style="path", in_terminal=False),
        listing.text("state", "state", is_alarm=lambda row: row["state"] == OPEN),
        listing.text("incident", "incident", style="mono", is_whole=True),
    ),
)
