"""The comparison finds what differs: a tool that finds nothing would look the same as parsers that agree."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.twin.compare import KINDS, Report, compare, differing_cells, parsed, table_of

EVENT = (
    b"2026-11-21T08:40:46.355795316Z 607356929884 DEBUG "
    b"[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Received FETCH response from node 2 "
    b"for request with header RequestHeader(apiKey=FETCH, apiVersion=18, clientId=broker-1-fetcher-0, "
    b"correlationId=7, headerVersion=2): FetchResponseData(throttleTimeMs=0, errorCode=0, sessionId=5, "
    b"responses=[]) (org.apache.kafka.clients.NetworkClient)"
)
LINES = [EVENT, EVENT[:-80], b"2026-11-21T08:40:46.355Z INFO Started (kafka.server.KafkaServer)"]
KIND = "client-log"
INSTANT = pa.timestamp("us", tz="UTC")
TEXTS = ("cluster", "node", "kind", "time_zone", "source", "position", "chunk", "content_encoding", "topic")
BRONZE = pa.schema(
    [
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", INSTANT),
        ("ingest_date", pa.date32()),
        *((name, pa.string()) for name in TEXTS),
    ]
)


@pytest.fixture
def corpus(tmp_path):
    """Make a corpus whose old side is what the new parser says."""
    rows = [
        {"value": line, "offset": n, "cluster": "lab", "node": "broker-1", "kind": KIND, "position": f"p/{n}"}
        for n, line in enumerate(LINES)
    ]
    bronze = pa.Table.from_pylist(rows, schema=BRONZE)
    _write(bronze, tmp_path / "c" / "bronze" / KIND / "0.parquet")
    old, (new, _) = tmp_path / "c" / "old" / KIND / "0", parsed(KIND, bronze)
    outcomes = [dict(zip(("outcome", "reason", "logger"), one, strict=True)) for one in new.outcomes]
    _write(
        pa.Table.from_pylist([{"offset": n} | one for n, one in enumerate(outcomes)]),
        old / "outcomes.parquet",
    )
    events = [row._asdict() for row in new.rows["client_events"]]
    _write(pa.Table.from_pylist(events), old / "client_events.parquet")
    (old / ".done").touch()
    return tmp_path


def _write(rows, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)


def found(root):
    report = compare(root, "c", [KIND])
    return {(old, new): one.count for (_, old, new), one in report.differences.items()}, report


def test_parsers_that_agree_have_no_difference(corpus):
    differences, report = found(corpus)

    assert differences == {}
    rows = {table: dict(n) for (_, table), n in report.rows.items()}
    one = {"old": 1, "new": 1, "equal": 1}
    assert (rows["client_events"], rows["quarantined"], rows["skipped"]) == (one, one, one)


def test_another_outcome_is_a_difference_of_its_line(corpus):
    path = corpus / "c" / "old" / KIND / "0" / "outcomes.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[1]["reason"], rows[2]["outcome"], rows[2]["reason"] = "bad_json", "kept", None
    _write(pa.Table.from_pylist(rows), path)

    assert found(corpus)[0] == {
        ("quarantined: bad_json", "quarantined: truncated_line"): 1,
        ("kept", "skipped: other_logger"): 1,
    }


def test_another_cell_is_a_difference_of_its_column(corpus):
    path = corpus / "c" / "old" / KIND / "0" / "client_events.parquet"
    _write(
        pa.Table.from_pylist([row | {"correlation_id": 8} for row in pq.read_table(path).to_pylist()]), path
    )

    differences, report = found(corpus)

    assert differences == {("kept", "kept: client_events.correlation_id"): 1}
    assert report.rows[KIND, "client_events"] == {"old": 1, "new": 1, "equal": 0}


def test_doubles_are_compared_bit_for_bit():
    zero, minus = (pa.table({"ms": pa.array([value, None, float("nan")])}) for value in (0.0, -0.0))

    assert differing_cells(zero, minus) == {0: ["ms"]}
    assert differing_cells(zero, zero) == {}


def test_a_row_of_another_width_is_an_error():
    with pytest.raises(AssertionError):
        table_of([(1, 2)], pa.schema([("a", pa.int64())]))


def test_each_kind_is_compared():
    assert len(KINDS) == 6
    assert Report().differences == {}
