"""A task keeps the records of another Kafka cluster with the same name out of silver."""

import pyarrow.parquet as pq
import pytest

from engine.ingest.task.cluster_ids import ClusterIds, ClusterRow, own_clusters
from schemas.silver.clusters import CLUSTERS
from tests.engine.ingest.task.kafka_batches import HEADERS, kafka_batch, task_plan
from tests.engine.ingest.task.test_task import run
from tests.transforms.parse.records import COMPLETED
from transforms.parse.record import Record

FIRST, OTHER = "A3UMX2uJTSWHqIFWNOVTbQ", "AOXDbY-OTYyOZrkGlTHmpw"


def headers(cluster_id):
    """Return the headers of a collector that knows the id."""
    name, *others = HEADERS.items()
    return dict([name, ("cluster-id", cluster_id.encode()), *others])


def bronze(tmp_path, file):
    return pq.read_table(tmp_path / "bronze/request_log" / file.path, partitioning=None).to_pylist()


def test_the_id_is_a_column_of_bronze_and_a_candidate_for_the_table(tmp_path):
    files, tally = run([kafka_batch([COMPLETED], headers=headers(FIRST))], task_plan(tmp_path))

    [row] = bronze(tmp_path, files["bronze.request_log"])
    assert (row["cluster_id"], row["cluster"], row["headers"]) == (FIRST, "lab", None)
    assert tally.clusters == [ClusterRow("lab", FIRST)]
    assert list(ClusterRow._fields) == CLUSTERS.schema.names


def test_a_record_of_another_cluster_with_a_known_name_is_quarantined_with_both_ids(tmp_path):
    batches = [
        kafka_batch([COMPLETED], headers=headers(FIRST)),
        kafka_batch([COMPLETED], headers=headers(OTHER), first=1),
        kafka_batch([COMPLETED], first=2),  # of a collector that does not know the id
        kafka_batch([COMPLETED], headers=headers(OTHER) | {"cluster": b"staging"}, first=3),
    ]
    files, tally = run(batches, task_plan(tmp_path, clusters={"lab": FIRST}))

    [row] = pq.read_table(tmp_path / "silver/quarantine" / files["silver.quarantine"].path).to_pylist()
    assert (row["offset"], row["reason"], row["value"]) == (1, "other_cluster", COMPLETED)
    assert row["detail"] == f"from the Kafka cluster {OTHER}; the name lab is {FIRST}"
    assert files["silver.requests"].rows == 3
    assert files["bronze.request_log"].rows == 4
    assert {(row.cluster, row.cluster_id) for row in tally.clusters} == {("lab", FIRST), ("staging", OTHER)}


def test_each_pair_of_name_and_id_is_reported_once_and_in_order():
    ids = [None, FIRST, OTHER, FIRST]
    records = [Record(b"", "lab", cluster_id=own) for own in ids]

    rows = [ClusterRow("lab", FIRST), ClusterRow("lab", OTHER)]
    assert own_clusters(records, {}) == (rows, True)
    assert own_clusters(records, {"lab": OTHER}) == (rows[1:], False)
    assert own_clusters([Record(b"", None, cluster_id=FIRST)], {"lab": OTHER}) == ([], True)


@pytest.mark.parametrize(
    ("held", "new"), [({}, {"prod": FIRST, "new": OTHER}), ({"prod": FIRST}, {"new": OTHER})]
)
def test_a_name_belongs_to_the_first_id_that_was_read(held, new):
    ids, stored = ClusterIds(held), []

    found = [ClusterRow("prod", FIRST), ClusterRow("prod", OTHER), ClusterRow("new", OTHER)]
    assert not ids.settle(found, stored.extend)
    assert ids.by_name() == {"prod": FIRST, "new": OTHER}
    assert {row.cluster: row.cluster_id for row in stored} == new
    assert ids.settle(found[:1], stored.extend)
    assert len(stored) == len(new)


def test_a_name_stays_free_while_its_row_cannot_be_written():
    """Else lines would be accepted because of an id that the warehouse does not have."""
    ids = ClusterIds({})

    with pytest.raises(ZeroDivisionError):
        ids.settle([ClusterRow("prod", FIRST)], lambda _: 1 / 0)
    assert ids.by_name() == {}
