"""`silver.clusters`: which Kafka cluster each cluster name belongs to."""

from pyspark.sql.types import IntegerType, StringType, StructType

from schemas.fields import Table, column

CLUSTERS = Table(
    layer="silver",
    name="clusters",
    about="Kafka's id of each observed cluster, from the first record that has one. Records of another Kafka "
    "cluster with the same name are in `silver.quarantine` with the reason `other_cluster`.",
    key=("cluster",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("cluster_id", StringType(), "Kafka's id of the cluster, `cluster.id` of meta.properties"),
            column("node", StringType(), "node of the record that named it first"),
            column("position", StringType(), "position of that record in its source"),
            column("parser_version", IntegerType(), "version of the parsers then"),
        ]
    ),
)
