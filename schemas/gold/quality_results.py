"""What the rules between the layers said: one row a rule and span that was checked."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column

QUALITY_RESULTS = Table(
    layer="gold",
    name="quality_results",
    about="What `plumbline check-quality` found, rule by rule. Gold of a span whose newest check of silver "
    "failed is not built until a check of it passes.",
    key=("checked_at", "layer", "table_name", "rule", "span_start"),
    schema=StructType(
        [
            column("checked_at", TimestampType(), "when the check began, the same for all its rules"),
            column("layer", StringType(), "layer that was checked: silver or gold"),
            column("table_name", StringType(), "table that was checked"),
            column("rule", StringType(), "rule, as conf/expectations names it"),
            column("about", StringType(), "what the rule says, for people"),
            column("span_start", TimestampType(), "first instant checked; NULL: the whole table"),
            column("span_end", TimestampType(), "instant behind the last; NULL: the whole table"),
            column("is_passed", BooleanType(), "every row kept the rule"),
            column("rows_seen", LongType(), "rows that were checked"),
            column("rows_failed", LongType(), "rows that broke the rule"),
            column("examples", ArrayType(StringType()), "some of them: place and values, as JSON"),
            column(
                "table_version",
                LongType(),
                "version of the table up to which all that is new was checked; NULL of a span asked for",
            ),
        ]
    ),
)
