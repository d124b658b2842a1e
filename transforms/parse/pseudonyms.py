"""Names that people gave, written so that nobody can read them and everything can still be joined."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

DIGITS = 16
OF_BROKERS = r"^broker-\d+-fetcher-\d+$"
"""Client ids that Kafka itself gives to the fetchers of followers: they say nothing of people."""


def pseudonyms(rows: DataFrame, key: str) -> DataFrame:
    """
    Replace `client_id` and `principal`, where `rows` has them, by a keyed hash: the same name, the same hash.

    A principal keeps its type. NULL stays NULL, and the ids of followers' fetchers stay as they are. With an
    empty key nothing is replaced.

    >>> rows = spark.createDataFrame([("payroll", "User:ann"), ("broker-1-fetcher-0", None)],
    ...     "client_id string, principal string")
    >>> pseudonyms(rows, "a key that nobody knows").show(truncate=False)
    +-----------------------+---------------------+
    |client_id              |principal            |
    +-----------------------+---------------------+
    |client-60f8bb994c69b36d|User:091287dc16039b89|
    |broker-1-fetcher-0     |NULL                 |
    +-----------------------+---------------------+
    <BLANKLINE>
    """
    if not key:
        return rows
    client, principal = F.col("client_id"), F.col("principal")
    hidden = {
        "client_id": F.when(client.rlike(OF_BROKERS), client).otherwise(
            F.concat(F.lit("client-"), _hash(client, key))
        ),
        "principal": F.concat(F.substring_index(principal, ":", 1), F.lit(":"), _hash(principal, key)),
    }
    return rows.withColumns({name: of for name, of in hidden.items() if name in rows.columns})


def _hash(name: Column, key: str) -> Column:
    # The key on either side of an inner hash, as HMAC has it: nobody can lengthen a name and know its hash.
    inner = F.sha2(F.concat(F.lit(f"{key}\0"), name).cast("binary"), 256)
    return F.substring(F.sha2(F.concat(F.lit(f"{key}\1"), inner).cast("binary"), 256), 1, DIGITS)
