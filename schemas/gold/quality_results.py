"""`gold.quality_results`: the results of the data-quality rules, one row per rule and checked time range."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column

QUALITY_RESULTS = Table(
    layer="gold",
    name="quality_results",
    about="Results of `plumbline check-quality`, one row per rule. If the newest check of silver fails for a "
    "time range, gold is not built for it until a check passes.",
    lacks=dict.fromkeys(
        ("build", "suite", "question", "metric"), "it holds the results of the checks themselves"
    ),
    key=("checked_at", "layer", "table_name", "rule", "span_start"),
    schema=StructType(
        [
            column("checked_at", TimestampType(), "start of the check, the same for all its rules"),
            column("layer", StringType(), "checked layer: silver or gold"),
            column("table_name", StringType(), "checked table"),
            column("rule", StringType(), "name of the rule in conf/expectations"),
            column("about", StringType(), "description of the rule"),
            column("span_start", TimestampType(), "start of the checked time range; NULL: the whole table"),
            column(
                "span_end",
                TimestampType(),
                "end of the checked time range (exclusive); NULL: the whole table",
            ),
            column("is_passed", BooleanType(), "all rows satisfy the rule"),
            column("rows_seen", LongType(), "number of checked rows"),
            column("rows_failed", LongType(), "number of rows that violate the rule"),
            column("examples", ArrayType(StringType()), "examples of these rows: key and values as JSON"),
            column(
                "table_version",
                LongType(),
                "table version up to which all new rows were checked; NULL if the user chose the time range",
            ),
        ]
    ),
)
