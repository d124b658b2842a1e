"""The unpacked bytes and the instant of whole scrapes, as columns over bronze."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from transforms.parse.scrapes.page import gunzip


def unpacked(value: Column, content_encoding: Column) -> Column:
    """
    Return the unpacked bytes of a scrape, up to 128 MiB; NULL if the bytes are not valid gzip.

    >>> import gzip
    >>> rows = spark.createDataFrame(
    ...     [(b"up 1", None), (gzip.compress(b"up 1"), "gzip"), (b"up 1", "gzip"), (None, "gzip")],
    ...     "value binary, content_encoding string")
    >>> rows.select(unpacked(F.col("value"), F.col("content_encoding")).cast("string").alias("text")).show()
    +----+
    |text|
    +----+
    |up 1|
    |up 1|
    |NULL|
    |NULL|
    +----+
    <BLANKLINE>
    """
    # A pickled UDF, because Spark has no gunzip and few pages are compressed.
    unpack = F.udf(lambda packed: packed if packed is None else gunzip(packed), BinaryType())
    is_gzip = F.coalesce(content_encoding, F.lit("")) == "gzip"
    return F.when(is_gzip, unpack(F.when(is_gzip, value))).otherwise(value)


def scraped_at(position: Column) -> Column:
    """
    Return the instant of a scrape from its position, `NODE/scrape/EPOCH_NS`; NULL for any other position.

    >>> rows = spark.createDataFrame(
    ...     [("broker-1/scrape/1795252768987716710",), ("broker-1/ab/12",), (None,)], "p string")
    >>> rows.select(scraped_at(F.col("p")).alias("scraped_at")).show(truncate=False)
    +--------------------------+
    |scraped_at                |
    +--------------------------+
    |2026-11-21 09:19:28.987716|
    |NULL                      |
    |NULL                      |
    +--------------------------+
    <BLANKLINE>
    """
    micros = F.regexp_extract(position, r"/scrape/(\d{1,16})\d{3}$", 1).try_cast("bigint")
    return F.timestamp_micros(micros)
