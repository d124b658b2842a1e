"""Redirects added up by client version."""

from answers.leader_redirects.redirects import by_version
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
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
