"""`silver.listeners`: which listeners of the brokers serve clients, and which followers."""

from pyspark.sql.types import DateType, IntegerType, StringType, StructType

from schemas.fields import Table, column

CLIENT, FOLLOWER = "client", "follower"
"""Values of `listeners.role`."""

LISTENERS = Table(
    layer="silver",
    name="listeners",
    about="Roles of listeners, from PRODUCE and FETCH requests that a broker served. One row per listener, "
    "role and UTC date of the responses. A fetch with a replica id over a listener that also serves clients "
    "is no follower's, if another listener of the cluster serves followers alone on that date. A fetch of "
    "the metadata topic over a listener that serves clients is never believed.",
    key=("cluster", "listener", "role", "logged_date"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("listener", StringType(), "listener name"),
            column("role", StringType(), "client: producers or consumers use it; follower: followers do"),
            column("logged_date", DateType(), "UTC date of the responses"),
            column("parser_version", IntegerType(), "version of the parser that wrote the row"),
        ]
    ),
)
