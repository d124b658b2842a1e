"""`silver.client_events`: lines of NetworkClient logs."""

from pyspark.sql.types import IntegerType, StringType, StructType

from schemas.fields import ORIGIN, Table, column
from schemas.silver.columns import STAMP

CLIENT_EVENTS = Table(
    layer="silver",
    name="client_events",
    about="One row per request sent or response received, from NetworkClient at DEBUG. Paired in gold.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "node_id", IntegerType(), "the number the node ends in; NULL for a client that is no broker"
            ),
            *STAMP,
            column("direction", StringType(), "sent or received"),
            column(
                "component", StringType(), "ReplicaFetcher, RaftManager, Producer...: the line's own prefix"
            ),
            column("follower_id", IntegerType(), "replicaId of a ReplicaFetcher line"),
            column("fetcher_id", IntegerType(), "fetcherId of a ReplicaFetcher line"),
            column("destination_id", IntegerType(), "node the request went to or the answer came from"),
            column("api", StringType(), "request API name"),
            column("api_version", IntegerType(), "request API version"),
            column("client_id", StringType(), "client.id"),
            column("correlation_id", IntegerType(), "correlation id; starts anew with each fetcher thread"),
            column("session_id", IntegerType(), "fetch session id: asked with (sent) or answered (received)"),
            column("session_epoch", IntegerType(), "fetch session epoch of a sent FETCH"),
            *ORIGIN[1:],
        ]
    ),
)
