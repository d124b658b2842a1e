"""`gold.perf_runs`: the summary lines of performance tests with the settings of their runs."""

from pyspark.sql.types import DoubleType, StructType

from schemas.fields import Table, column
from schemas.silver.perf_test import PERF_SUMMARIES

PERF_RUNS = Table(
    layer="gold",
    name="perf_runs",
    about="Summary lines with the settings of their runs. Computed on read.",
    key=PERF_SUMMARIES.key,
    is_stored=False,
    schema=StructType(
        [
            *PERF_SUMMARIES.schema.fields,
            column("asked_records_per_s", DoubleType(), "target rate; NULL if unlimited or unknown"),
        ]
    ),
)
