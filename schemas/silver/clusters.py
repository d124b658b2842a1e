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
            column("parser_version", IntegerType(), "version of the parsers that read it first"),
        ]
    ),
)
