"""Addresses leave gold: those that an earlier version wrote are removed when gold is built again."""

from datetime import UTC, datetime

import pyarrow as pa

from conf.progress import Progress
from engine.delta import tables
from engine.gold.builder import Builder
from schemas.arrow import arrow_schema
from schemas.gold.leader_redirect import LEADER_REDIRECT

AT = datetime(2026, 11, 21, 9, tzinfo=UTC)


def test_connections_of_an_earlier_version_are_removed_once(spark, tmp_path):
    old = {
        "cluster": "lab",
        "window_start": AT,
        "errored_at": AT,
        "topic": "t",
        "connection": "a:1-203.0.113.7:2-0-0",
    }
    tables.make(tmp_path, LEADER_REDIRECT)
    schema = arrow_schema(LEADER_REDIRECT)
    tables.overwrite(
        pa.Table.from_pylist([old, old | {"connection": None}], schema), tmp_path, LEADER_REDIRECT
    )

    versions = []
    for _ in range(2):
        Builder(spark, tmp_path, Progress())
        versions.append(tables.snapshot(tmp_path, LEADER_REDIRECT).version)

    rows = tables.read(spark, tmp_path, LEADER_REDIRECT).collect()
    assert [(row.topic, row.connection) for row in rows] == [("t", None)] * 2
    assert versions[0] == versions[1]
