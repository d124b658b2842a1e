"""Incidents from gold with known values."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from answers.gold.selection import GoldSelection
from answers.incidents.found import INCIDENTS, incident_of, incidents
from answers.incidents.question import INCIDENT, MARGIN, QUESTION, around
from answers.next_steps.culprits import of_culprit
from answers.next_steps.steps import look_closer
from answers.produce_held import hurt
from answers.slow_links.accusation import accusation
from answers.slow_links.culprits import findings, listed
from answers.slow_links.round_trips import culprits
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.not_kept import QUARANTINE
from tests.answers import made_gold
from tests.answers.made_gold import HOSTILE, SLOW_FROM, at, culprit, lookup, redirect, throttle
from tests.answers.selected import selected

URL_SAFE = re.compile(r"[a-z0-9-]+")
SECOND = timedelta(seconds=1)


def of(tables, **filters):
    return incidents(selected(tables, cluster="east", **filters))


def of_kind(rows, kind):
    return [row for row in rows if row["kind"] == kind]


def lost(nth, **more):
    """Return a redirect without an end."""
    return redirect(nth, "3.6.0", 100.0) | {"succeeded_at": None, "redirect_ms": None} | more


def window(nth):
    """Return a window, which is the newest data."""
    return {BROKER_RTT: [{"cluster": "east", "window_start": at(nth)}]}


def over_limit(until):
    """Return windows with twice the limit."""
    return {THROTTLE_COMPLIANCE: [throttle(nth, [2_000_000] * 10) for nth in range(until)]}


def lookups(until):
    return {METADATA_LOOKUP: [lookup(nth) for nth in range(until)]}


def counted(lines_read, quarantined):
    return made_gold.quality(1) | {"lines_read": lines_read, "quarantined": quarantined}


def result(span, *, is_passed, checked=0, **more):
    known = {"checked_at": at(1_000 + checked), "layer": "silver", "table_name": "requests", "rule": "ids"}
    known |= {
        "about": "Each row has a broker",
        "span_start": at(360 * span),
        "span_end": at(360 * (span + 1)),
    }
    failed = 0 if is_passed else 7
    return (
        known | {"is_passed": is_passed, "rows_seen": 100, "rows_failed": failed, "examples": ["{}"]} | more
    )


def test_incidents_of_a_cluster_are_what_the_answers_find(east):
    rows = incidents(east)

    of = accusation(east)
    [finding], [slow] = of.found, of_kind(rows, "culprit")
    assert (slow["found"], slow["state"], slow["until"]) == (of.headline.sentence, "open", None)
    assert (slow["since"], slow["effect"]) == (at(SLOW_FROM), "20.1 ms per round trip")
    assert slow["next_steps"] == [*of_culprit(finding.row), look_closer("east", at(SLOW_FROM), None)]
    assert slow["evidence"][1] == (
        "On 2026-11-21, named in 18 windows of 10 s; shown in full by 18 windows of 10 s between 11:02:00 "
        "and 11:05:00 UTC."
    )
    [over] = of_kind(rows, "throttle")
    assert over["found"].startswith("Broker 1, leader (sent): over limit; ")
    assert (over["state"], over["until"]) == ("ended", at(4))
    [again] = of_kind(rows, "lookups")
    assert again["found"] == "Client many-topics (2.4.1) asks for known topics again with each new one."
    assert [row["kind"] for row in rows] == ["culprit", "throttle", "lookups"]


def test_a_finding_has_one_effect_in_the_sentence_its_evidence_the_table_and_the_incident(east):
    """The effect is of all windows together; that of the median window alone is 20.0 ms."""
    of, [slow] = accusation(east), of_kind(incidents(east), "culprit")
    [row] = listed(of.found)

    assert "by 20.1 ms" in of.headline.sentence
    assert row["finding"] == slow["found"] == of.headline.sentence
    assert row["effect_ms"] == slow["effect_ms"] == pytest.approx(20.1, abs=0.05)
    assert of.headline.evidence[0] == slow["evidence"][0]
    assert slow["evidence"][0].startswith("20.1 ms: p10 of 720 round trips per pair in the windows")


def test_commands_name_the_settings_that_were_given_and_else_a_word_to_replace(east):
    [unknown], [known] = (
        of_kind(incidents(replace(east, conf=conf)), "culprit") for conf in ((), ("a.toml", "my b.toml"))
    )

    start = "plumbline report --conf SETTINGS.toml --cluster=east"
    assert unknown["next_steps"][-1].command.startswith(start)
    start = "plumbline report --conf a.toml --conf 'my b.toml' --cluster=east"
    assert known["next_steps"][-1].command.startswith(start)


def test_an_incident_of_the_round_trips_names_the_producers_it_hurt(east):
    [finding] = findings(culprits(east))
    [slow] = of_kind(incidents(east), "culprit")

    # 18 windows with 40 requests each; those of the other pairs were not held
    assert slow["evidence"][-1] == (
        "Producers: 720 acks=all requests waited 20.0 ms longer by the mean. Topics: orders."
    )
    page = INCIDENT.answer(replace(east, incident=slow["incident"]))
    (line,) = (line for line in page.headline.evidence if "worst window" in line)
    assert line == "Producers that waited most in its worst window: app."
    other = replace(finding, row=finding.row | {"follower_id": 2})
    assert hurt.topics(east, other) == hurt.clients(east, other) == []


def test_an_incident_is_found_by_its_id(east):
    for row in incidents(east):
        assert incident_of(east, row["incident"]) == row
    assert incident_of(east, "culprit-1") is None
    assert incident_of(replace(east, cluster="west"), incidents(east)[0]["incident"]) is None


def test_without_gold_there_are_no_incidents():
    assert of({}) == []


def test_rows_of_nulls_make_no_incident_and_no_error():
    tables = (BROKER_RTT, BROKER_RTT_CULPRIT, LEADER_REDIRECT, METADATA_LOOKUP, PARTITION_SKEW)
    row = {"cluster": "east", "window_start": at(0)}

    found = of(
        {table: [row] for table in (*tables, THROTTLE_COMPLIANCE)}
        | {DATA_QUALITY: [{"cluster": "east"}], QUALITY_RESULTS: [{"checked_at": at(0)}]}
    )

    assert found == []


@pytest.mark.parametrize(
    "tables",
    [
        lambda until: {BROKER_RTT_CULPRIT: [culprit(nth) for nth in range(SLOW_FROM + until)]},
        over_limit,
        lambda until: lookups(until + 6) | window(until + 6),
        lambda until: {LEADER_REDIRECT: [lost(0), lost(until)]} | window(60),
        lambda until: {DATA_QUALITY: [counted(1_000 * until, 300 * until)]},
        lambda until: {QUALITY_RESULTS: [result(span, is_passed=False) for span in range(until)]},
    ],
    ids=["culprit", "throttle", "lookups", "redirect", "lines", "failed_rule"],
)
def test_id_stays_while_the_end_of_an_incident_moves(tables):
    [early], [late] = of(tables(3)), of(tables(8))
    [ended] = of(tables(8) | {BROKER_RTT: [{"cluster": "east", "window_start": at(500)}]})

    assert early["incident"] == late["incident"] == ended["incident"]
    assert URL_SAFE.fullmatch(late["incident"])


def test_id_is_another_one_for_another_cluster_begin_or_broker():
    rows = [culprit(nth) for nth in range(20)]
    later = [
        culprit(nth + 5) | {"since": at(SLOW_FROM + 5)} if nth >= SLOW_FROM else culprit(nth)
        for nth in range(20)
    ]
    other = [row | {"follower_id": row["follower_id"] and 2} for row in rows]
    west = [row | {"cluster": "west"} for row in rows]

    found = [of({BROKER_RTT_CULPRIT: these}) for these in (rows, later, other)]
    found.append(incidents(selected({BROKER_RTT_CULPRIT: west}, cluster="west")))

    assert len({row["incident"] for [row] in found}) == 4


def test_id_of_a_tie_stays_while_its_shapes_change():
    shapes = [{"culprit": "broker", "broker_id": 1}, {"culprit": "link", "follower_id": 3, "leader_id": 1}]

    def tie(n):
        return [
            culprit(nth)
            | {"culprit": "ambiguous", "follower_id": None, "leader_id": None, "tied": shapes[:n]}
            for nth in range(SLOW_FROM, 20)
        ]

    [early], [late] = (of({BROKER_RTT_CULPRIT: tie(n)}) for n in (1, 2))

    assert early["incident"] == late["incident"]
    assert early["found"] != late["found"]


def test_an_incident_that_ended_has_both_ends_in_its_report():
    rows = [culprit(nth) for nth in range(20)] + [
        culprit(0) | {"window_start": at(20 + nth)} for nth in range(3)
    ]

    [row] = of({BROKER_RTT_CULPRIT: rows})

    assert (row["state"], row["until"]) == ("ended", at(20))
    assert row["next_steps"][-1] == look_closer("east", at(SLOW_FROM), at(20))


def test_open_incidents_are_first_and_then_the_newest():
    tables = {LEADER_REDIRECT: [lost(10), lost(20, topic="b"), lost(0, topic="c", client_id="c")]}
    served = {"cluster": "east", "topic": "b", "partition": 20, "client_id": "orders-app", "batches": 1}

    rows = of(tables | {PARTITION_SKEW: [served | {"window_start": at(60)}]})

    assert [(row["state"], row["since"]) for row in rows] == [
        ("open", at(10)),
        ("open", at(0)),
        ("ended", at(20)),
    ]


def test_a_redirect_is_an_incident_once_its_minute_is_over():
    assert of({LEADER_REDIRECT: [lost(0)]} | window(4)) == []
    [row] = of({LEADER_REDIRECT: [lost(0), lost(1), redirect(2, "3.6.0", 100.0)]} | window(6))

    assert row["found"] == (
        "Client orders-app (3.6.0) lost the leader of partitions 0, 1 of topic orders at 11:00:00 UTC and "
        "was not served within 60 s."
    )
    assert (row["effect"], row["state"]) == ("2 partitions without a leader", "open")


@pytest.mark.parametrize("client", ["orders-app", None, HOSTILE])
def test_a_redirect_ended_when_every_partition_serves_the_client_again(client):
    batch = {"cluster": "east", "topic": "orders", "client_id": client, "batches": 3}
    events = [lost(0, client_id=client), lost(1, client_id=client)]

    def ends(*served):
        skew = [batch | {"partition": partition, "window_start": at(nth)} for partition, nth in served]
        [row] = of({LEADER_REDIRECT: events, PARTITION_SKEW: skew} | window(60))
        return row["until"]

    assert ends((0, 9), (1, 30), (0, 40)) == at(30)
    assert ends((0, 9)) is None
    assert ends((0, 9), (1, 1)) is None  # the window of the error itself
    assert ends((0, 9), (2, 9)) is None
    batch["batches"] = 0  # only retries of batches before
    assert ends((0, 9), (1, 30)) is None


def test_a_redirect_ended_when_a_later_one_did():
    later = redirect(0, "3.6.0", 100.0) | {"window_start": at(30), "errored_at": at(30), "api": "FETCH"}
    events = [lost(0, api="FETCH"), later | {"succeeded_at": at(30) + SECOND}]

    [row] = of({LEADER_REDIRECT: events} | window(60))
    assert row["until"] == at(30) + SECOND
    [row] = of({LEADER_REDIRECT: [events[0], events[1] | {"api": "PRODUCE"}]} | window(60))
    assert row["until"] is None


def test_a_throttle_goes_on_until_its_windows_end_a_minute_before_the_data():
    assert [row["until"] for row in of(over_limit(6) | window(11))] == [None]
    assert [row["until"] for row in of(over_limit(6) | window(12))] == [at(6)]


def test_only_throttles_that_need_action_are_incidents():
    assert of({THROTTLE_COMPLIANCE: [throttle(nth, [900_000] * 10) for nth in range(6)]}) == []


def test_many_quarantined_and_misplaced_lines_are_incidents():
    line = {"cluster": "east", "node": "broker-1", "reason": "node_is_another_replica", "source": HOSTILE}

    rows = of({DATA_QUALITY: [counted(1_000, 300)], QUARANTINE: [line | {"position": "broker-1/a/0"}]})

    assert [row["effect"] for row in rows] == [
        "30.0 % of the lines are missing",
        "lines counted for another broker",
    ]
    assert rows[0]["found"] == "300 of 1,000 lines (30.0 %) are in quarantine: node_is_another_replica 1."
    assert of({DATA_QUALITY: [counted(1_000, 10)]}) == []


def test_a_rule_fails_until_its_newest_check_passes():
    failed = [result(0, is_passed=False), result(1, is_passed=False), result(2, is_passed=True)]
    fixed = result(0, is_passed=True, checked=1)

    [row] = of({QUALITY_RESULTS: failed})
    assert (row["found"], row["effect"]) == ("Rule ids of silver.requests fails.", "14 of 200 rows")
    assert row["next_steps"][0].command == (
        "plumbline check-quality --layer silver --conf SETTINGS.toml "
        "--since 2026-11-21T11:00:00Z --until 2026-11-21T13:00:00Z"
    )
    [row] = of({QUALITY_RESULTS: [fixed, *failed]})
    assert row["since"] == at(360)
    assert of({QUALITY_RESULTS: failed}, until=at(0)) == []
    assert len(of({QUALITY_RESULTS: failed}, until=at(1))) == 1  # the check itself was later


def test_names_of_users_are_visible_and_in_no_id():
    name = "x\n<b>`y`\x1b[2J"
    redirects = [lost(0, client_id=name, topic=name)]
    growing = [lookup(nth, client=name) for nth in range(8)]

    rows = of({LEADER_REDIRECT: redirects, METADATA_LOOKUP: growing} | window(60))

    assert len(rows) == 2
    for row in rows:
        texts = [
            row["found"],
            row["effect"],
            *row["evidence"],
            *(part for step in row["next_steps"] for part in step),
        ]
        assert all(text.isprintable() for text in texts if text)
        assert URL_SAFE.fullmatch(row["incident"])
        assert r"x\n<b>`y`\x1b[2J" in row["found"]


def test_filters_of_a_selection_are_kept(east: GoldSelection):
    other = replace(east, client="another", broker=2)

    assert [row["kind"] for row in incidents(other)] == ["culprit"]


def test_listing_has_every_incident(east):
    listed = INCIDENTS.listed(incidents(east))

    cells = [[column.cell(row) for column in listed.listing.columns] for row in listed.rows]
    assert [cell[5] for cell in cells] == ["open", "ended", "ended"]
    assert cells[0][2:4] == ["2026-11-21 11:02:00", "\N{EN DASH}"]


def test_an_incident_of_a_rule_has_three_examples():
    [row] = of({QUALITY_RESULTS: [result(0, is_passed=False, examples=list("abcde"))]})

    assert row["evidence"] == ["Expected: Each row has a broker.", "Example: a", "Example: b", "Example: c"]


def test_a_rule_that_failed_before_the_span_is_no_incident_of_it():
    tables = {QUALITY_RESULTS: [result(0, is_passed=False)]}

    assert of(tables, since=at(360)) == []
    assert len(of(tables, since=at(359))) == 1


def test_a_throttle_at_the_end_of_a_span_goes_on_whatever_is_known_of_later():
    [row] = of(over_limit(6) | window(60), until=at(6))

    assert row["until"] is None


def idle(nth):
    return throttle(nth, [0] * 10, on_from=at(nth), on_until=at(nth + 1))


def stuck(nth):
    return throttle(nth, [900_000] * 10, moving_partitions=1, inbound_bytes=9_500_000)


def without_rate(nth):
    return throttle(nth, [1_000_000] * 10, limit=None, limited_from=None)


def without_list(nth):
    return throttle(nth, [0] * 10, unlisted_bytes=2_000_000)


@pytest.mark.parametrize(
    ("windows", "effect"),
    [
        (idle, "set for 60 s without a move"),
        (stuck, "0.90 MB/s replicated, 0.95 MB/s produced"),
        (without_rate, "60.00 MB without a limit"),
        (without_list, "12.00 MB without a limit"),
    ],
)
def test_the_effect_of_a_throttle_is_that_of_its_state(windows, effect):
    [row] = of({THROTTLE_COMPLIANCE: [windows(nth) for nth in range(6)]})

    assert (row["effect"], row["since"]) == (effect, at(0))


@pytest.mark.parametrize(
    ("is_hinted", "words"),
    [(True, "A response named the new leader."), (False, "No response named the new leader.")],
)
def test_a_redirect_says_whether_a_response_named_the_new_leader(is_hinted, words):
    [row] = of({LEADER_REDIRECT: [lost(0, hinted=is_hinted)]} | window(60))

    assert row["evidence"] == ["1 PRODUCE requests failed at the old leader.", words]


def test_lines_in_quarantine_without_any_that_were_read_are_all_lines():
    [row] = of({DATA_QUALITY: [counted(0, 3)]})

    assert row["effect"] == "100 % of the lines are missing"


def test_every_source_with_lines_of_another_broker_is_an_incident():
    """Two folders were swapped: the lines of the first alone are more than a page lists of a reason."""
    line = {"cluster": "east", "reason": "node_is_another_replica"}
    lines = [line | {"source": source, "position": f"{source}/{nth}"} for source in "ab" for nth in range(60)]

    rows = of({QUARANTINE: [*lines, line | {"cluster": "west", "source": "c", "position": "c/0"}]})

    assert [row["found"].split()[0] for row in rows] == ["a", "b"]


def test_the_page_of_an_incident_shows_ten_minutes_before_and_after_it_within_the_selection():
    row = {"since": at(100), "until": at(110)}
    wide, narrow = selected({}), selected({}, since=at(95), until=at(120))

    def span(selection, row):
        shown = around(selection, row)
        return shown.since, shown.until

    assert span(wide, row) == (at(100) - MARGIN, at(110) + MARGIN)
    assert span(narrow, row) == (at(95), at(120))
    assert span(narrow, {"since": None, "until": None}) == (at(95), at(120))


def test_the_page_of_an_incident_has_the_producers_of_its_own_time(monkeypatch):
    later = [culprit(nth) | {"follower_id": 2, "since": at(25)} for nth in range(25, 35)]
    quiet = [culprit(0) | {"window_start": at(nth)} for nth in range(20, 25)]
    tables = {BROKER_RTT_CULPRIT: [*(culprit(nth) for nth in range(20)), *quiet, *later]}
    monkeypatch.setattr(hurt, "clients", lambda _selection, one: [f"hurt since {one.since:%T}"])

    rows = of(tables)

    assert [row["since"] for row in rows] == [at(25), at(SLOW_FROM)]
    for row in rows:
        evidence = INCIDENT.answer(
            selected(tables, cluster="east", incident=row["incident"])
        ).headline.evidence
        assert [line for line in evidence if line.startswith("hurt")] == [f"hurt since {row['since']:%T}"]


@pytest.mark.parametrize(
    ("newest", "headline"),
    [(6, ("1 open incident, 0 ended.", "alarm")), (60, ("0 open incidents, 1 ended.", "unsure"))],
)
def test_an_open_incident_is_an_alarm_and_one_that_ended_is_none(newest, headline):
    answer = QUESTION.answer(selected(over_limit(6) | window(newest), cluster="east"))

    assert (answer.headline.sentence, answer.headline.mood) == headline
