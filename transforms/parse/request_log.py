"""
Lines of a broker's request log (`kafka.request.logger` at DEBUG) as rows of `silver.requests`.

Lines are parsed once; `kept`, `quarantined`, `skipped`, `topics` and `moves` select from the parsed frame.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.silver import REQUESTS, TOPICS
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import KEPT, quarantined, rows_of, skipped, with_outcome
from transforms.parse.request_admin import admin_rows, has_rows_of
from transforms.parse.request_checks import failure, skip
from transforms.parse.request_document import with_documents, with_fields
from transforms.parse.request_row import row
from transforms.parse.stamp import with_stamp

__all__ = ["is_move_of", "kept", "moves", "parse_request_log", "quarantined", "skipped", "topics"]


def parse_request_log(raw: DataFrame, *, own_client_prefix: str = "plumbline-") -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`); `own_client_prefix` marks the telemetry's own traffic."""
    read = with_documents(with_stamp(raw))
    return with_outcome(
        with_fields(read),
        failure=failure(),
        skip=skip(),
        row=row(own_client_prefix),
        extra=["topics_told", "admin"],
    )


def kept(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.requests`."""
    return rows_of(parsed, REQUESTS)


def topics(parsed: DataFrame) -> DataFrame:
    """Give the topic ids and names that kept METADATA and CREATE_TOPICS answers told."""
    told = parsed.where((F.col("outcome") == KEPT) & F.col("topics_told").isNotNull())
    return told.select(
        "cluster",
        F.col("row.logged_at").alias("seen_at"),
        "position",
        F.lit(PARSER_VERSION).alias("parser_version"),
        F.inline("topics_told"),
    ).to(TOPICS.schema)


def moves(parsed: DataFrame, table: Table) -> DataFrame:
    """Give the rows of a table of `schemas.throttles.MOVES` that kept lines told."""
    return admin_rows(parsed, table)


def is_move_of(table: Table) -> Column:
    """Tell whether a parsed line has rows of such a table."""
    return has_rows_of(table)
