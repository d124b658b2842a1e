"""`silver.client_events`: lines of NetworkClient logs."""

from pyspark.sql.types import IntegerType, StringType, StructType

from schemas.fields import ORIGIN, Table, column
from schemas.silver.columns import STAMP

CLIENT_EVENTS = Table(
    layer="silver",
    name="client_events",
    about="One row per request sent or response received, from NetworkClient at DEBUG. Gold pairs them.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "node_id",
                IntegerType(),
                "number at the end of the node's name; NULL for a client that is not a broker",
            ),
            *STAMP,
            column("direction", StringType(), "sent or received"),
            column(
                "component",
                StringType(),
                "component in the line's prefix: ReplicaFetcher, RaftManager, Producer",
            ),
            column("follower_id", IntegerType(), "replicaId of a ReplicaFetcher line"),
            column("fetcher_id", IntegerType(), "fetcherId of a ReplicaFetcher line"),
            column("destination_id", IntegerType(), "node that received the request or sent the response"),
            column("api", StringType(), "request API name"),
            column("api_version", IntegerType(), "request API version"),
            column("client_id", StringType(), "client.id"),
            column("correlation_id", IntegerType(), "correlation id; each fetcher thread starts again at 0"),
            column(
                "session_id",
                IntegerType(),
                "fetch session id of the request (sent) or the response (received)",
            ),
            column("session_epoch", IntegerType(), "fetch session epoch of a sent FETCH"),
            *ORIGIN[1:],
        ]
    ),
)
