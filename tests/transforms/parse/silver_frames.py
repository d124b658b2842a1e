"""Silver frames for gold tests: the parsed rows of records, as the ingest writes them."""

import pyarrow as pa

from engine.ingest.task.arrow_rows import record_batch
from transforms.parse.record import Kept


def kept_frames(spark, parse, records, tables):
    """Parse records that are all kept; return the frame of each table."""
    outcomes = [parse(each) for each in records]
    assert [outcome for outcome in outcomes if not isinstance(outcome, Kept)] == []
    frames = {}
    for table in tables:
        rows = [row for outcome in outcomes for row in outcome.rows.get(table.name, ())]
        arrow = pa.Table.from_batches([record_batch(table, rows)])
        frames[table] = spark.createDataFrame(arrow, schema=table.schema)
    return frames
