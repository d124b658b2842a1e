"""Redirects added up by client version."""

import pytest

from answers.leader_redirects.question import QUESTION
from answers.leader_redirects.redirects import LOST_LEADERS, by_version, headline, quiet
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from tests.answers import made_gold
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.redirect_rows import MOVE, built


def test_summary_is_by_version_and_keeps_what_has_no_end_and_disconnects_apart():
    """A row that was written before there was a `kind` is a redirect."""
    clients = {"a": "3.6.0", "b": "3.9.1", "c": "3.9.1"}
    rows = [
        row | {"client_id": name, "software_version": version, "position": f"{name}/{row['position']}"}
        for name, version in clients.items()
        for row in (MOVE if name != "c" else MOVE[:2])
    ]
    events = [vars(row) for row in built(rows)]
    changes = {"kind": "disconnect", "redirect_ms": 9_100.0, "hinted": None}
    died = [row | changes for row in events if row["client_id"] == "a"]
    older = [row | {"kind": None} if row["client_id"] == "b" else row for row in events]

    found = by_version(selected({LEADER_REDIRECT: [*older, *died]}))

    assert_declared(found, LEADER_REDIRECT_SUMMARY)
    by_name = {row["software_version"]: row for row in found}
    old, new = by_name["3.6.0"], by_name["3.9.1"]
    assert {name: (row["n"], row["unfinished"]) for name, row in by_name.items()} == {
        "3.6.0": (1, 0),
        "3.9.1": (1, 1),
    }
    assert (new["redirect_p50_ms"], new["redirect_p99_ms"]) == (5.0, None)
    assert (new["hinted_share"], new["wasted_requests"]) == (1.0, 2)
    assert (old["redirect_max_ms"], old["wasted_requests"]) == (5.0, 1)
    disconnects = ("disconnects", "disconnect_p50_ms", "disconnect_max_ms")
    assert [old[name] for name in disconnects] == [1, 9_100.0, 9_100.0]
    assert [new[name] for name in disconnects] == [0, None, None]


def of(*rows):
    return selected({LEADER_REDIRECT: list(rows)}, cluster="east")


@pytest.mark.parametrize(("n", "p99_ms"), [(99, None), (100, pytest.approx(98.01))])
def test_a_p99_needs_100_redirects(n, p99_ms):
    [row] = by_version(of(*(made_gold.redirect(nth, "3.6.0", float(nth)) for nth in range(n))))

    assert (row["n"], row["redirect_p99_ms"]) == (n, p99_ms)


def test_lost_leaders_without_an_end_come_first():
    rows = [{"redirect_ms": ms} for ms in (0.0, None, 9.0)]

    assert [row["redirect_ms"] for row in LOST_LEADERS.listed(rows).rows] == [None, 9.0, 0.0]


def test_the_sentence_has_no_median_of_fewer_than_five_redirects():
    few = [made_gold.redirect(nth, "4.3.1", 1.0) for nth in range(4)]
    more = [made_gold.redirect(nth, "3.6.0", 100.0) for nth in range(5)]

    assert headline(by_version(of(*few))) == "Clients lost a leader that moved 4 times."
    assert headline(by_version(of(*few, *more))) == (
        "Clients lost a leader that moved 9 times, producers for 100 ms (3.6.0, n = 5) at the median."
    )


def test_a_leader_that_died_for_clients_that_were_not_served_again_is_lost():
    dead = made_gold.redirect(0, "3.6.0", 1.0, "disconnect") | {"redirect_ms": None, "succeeded_at": None}

    answer = QUESTION.answer(of(dead))

    assert answer.headline.sentence == quiet([dead])
    assert answer.headline.sentence == "Leaders were lost, and no client has been served again yet."
    assert quiet([]) == "No client lost its leader in this span."


def test_a_page_of_dead_leaders_alone_has_no_figure_of_redirects():
    died, moved = (made_gold.redirect(0, "3.6.0", 1.0, kind) for kind in ("disconnect", "redirect"))

    names = [[section.name for section in QUESTION.answer(of(*rows)).sections] for rows in ([died], [moved])]

    assert names == [["disconnects", "events"], ["redirect", "redirects", "events"]]
