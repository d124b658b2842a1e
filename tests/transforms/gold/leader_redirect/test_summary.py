"""Redirects added up by client version."""

from pyspark.sql import functions as F

from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from tests.transforms.gold.redirect_rows import MOVE, built
from transforms.frames import frame_of
from transforms.gold.leader_redirect.summary import leader_redirect_summary


def test_summary_is_by_version_and_keeps_what_has_no_end_and_disconnects_apart(spark):
    """A row that was written before there was a `kind` is a redirect."""
    clients = {"a": "3.6.0", "b": "3.9.1", "c": "3.9.1"}
    rows = [
        row | {"client_id": name, "software_version": version, "position": f"{name}/{row['position']}"}
        for name, version in clients.items()
        for row in (MOVE if name != "c" else MOVE[:2])
    ]
    events = frame_of(spark, map(vars, built(rows)), LEADER_REDIRECT.schema)
    died = events.filter("client_id = 'a'").withColumns(
        {"kind": F.lit("disconnect"), "redirect_ms": F.lit(9_100.0), "hinted": F.lit(None).cast("boolean")}
    )
    older = events.withColumn("kind", F.when(F.col("client_id") != "b", F.col("kind")))
    found = leader_redirect_summary(older.unionByName(died))

    assert found.schema.simpleString() == LEADER_REDIRECT_SUMMARY.schema.simpleString()
    told = {row.software_version: row for row in found.collect()}
    assert {name: (row.n, row.unfinished) for name, row in told.items()} == {"3.6.0": (1, 0), "3.9.1": (1, 1)}
    assert (told["3.9.1"].redirect_p50_ms, told["3.9.1"].redirect_p99_ms) == (5.0, None)
    assert (told["3.9.1"].hinted_share, told["3.9.1"].wasted_requests) == (1.0, 2)
    assert (told["3.6.0"].redirect_max_ms, told["3.6.0"].wasted_requests) == (5.0, 1)
    disconnects = ("disconnects", "disconnect_p50_ms", "disconnect_max_ms")
    assert [told["3.6.0"][name] for name in disconnects] == [1, 9_100.0, 9_100.0]
    assert [told["3.9.1"][name] for name in disconnects] == [0, None, None]
