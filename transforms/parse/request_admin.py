"""
What the request log tells of throttles and moves: alterations of configurations, reassignments, in-sync sets.

These lines are few and their bodies unlike those of FETCH and PRODUCE, so the JSON of theirs alone is read a
second time, with a schema of its own (KIP-339, KIP-455, KIP-497; a field that a version lacks is NULL).
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.throttles import ISR_CHANGES, REASSIGNMENTS, REQUEST_LOG, THROTTLE_CHANGES
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import KEPT, apart
from transforms.parse.throttle_values import RESOURCES, SETTINGS, is_throttle, replicas, wildcard

INCREMENTAL, WHOLE = "INCREMENTAL_ALTER_CONFIGS", "ALTER_CONFIGS"
ALTER, LISTED = "ALTER_PARTITION_REASSIGNMENTS", "LIST_PARTITION_REASSIGNMENTS"
IN_SYNC = ("ALTER_PARTITION", "ALTER_ISR")
"""Kafka 2.7 and 2.8 named the request of KIP-497 after the in-sync set alone."""

APIS = (INCREMENTAL, WHOLE, ALTER, LISTED, *IN_SYNC)

OPERATIONS = {0: "set", 1: "delete", 2: "append", 3: "subtract"}
"""`AlterConfigOp.OpType`; an ALTER_CONFIGS sets what it names, and deletes all else that its resource has."""

_TOPIC = "name STRING, topicName STRING, topicId STRING"
DOCUMENT = f"""request STRUCT<validateOnly BOOLEAN, brokerId INT,
    resources ARRAY<STRUCT<resourceType INT, resourceName STRING,
        configs ARRAY<STRUCT<name STRING, configOperation INT, value STRING>>>>,
    topics ARRAY<STRUCT<{_TOPIC}, partitions ARRAY<STRUCT<partitionIndex INT, replicas ARRAY<INT>,
        leaderEpoch INT, newIsr ARRAY<INT>, newIsrWithEpochs ARRAY<STRUCT<brokerId INT>>>>>>>,
    response STRUCT<errorCode INT,
    responses ARRAY<STRUCT<errorCode INT, resourceType INT, resourceName STRING, name STRING,
        partitions ARRAY<STRUCT<partitionIndex INT, errorCode INT>>>>,
    topics ARRAY<STRUCT<{_TOPIC}, partitions ARRAY<STRUCT<partitionIndex INT, errorCode INT, isr ARRAY<INT>,
        partitionEpoch INT, replicas ARRAY<INT>, addingReplicas ARRAY<INT>, removingReplicas ARRAY<INT>>>>>
    >""".replace("\n", " ")


def with_admin(read: DataFrame, body: Column) -> DataFrame:
    """
    Add `admin`: of each table of `MOVES` the rows that the line tells; NULL for every other line.

    `body` is the text of the line's JSON; it is not looked at where the API is another one.
    """
    told = F.when(F.col("api").isin(*APIS), F.from_json(body, DOCUMENT))
    document = read.select("*", apart(told).alias("admin_document"))
    known, api = F.col("admin_document"), F.col("api")
    rows = F.struct(
        F.when(api.isin(INCREMENTAL, WHOLE), _throttles(api, known)).alias(THROTTLE_CHANGES.name),
        F.when(api == ALTER, _altered(known)).when(api == LISTED, _listed(known)).alias(REASSIGNMENTS.name),
        F.when(api.isin(*IN_SYNC), _in_sync(known)).alias(ISR_CHANGES.name),
    )
    return document.select("*", F.when(known.isNotNull(), rows).alias("admin")).drop("admin_document")


def has_rows_of(table: Table) -> Column:
    """Tell whether a parsed line has rows of a table of `MOVES`."""
    return (F.col("outcome") == KEPT) & F.coalesce(F.size(F.col("admin")[table.name]) > 0, F.lit(False))


def admin_rows(parsed: DataFrame, table: Table) -> DataFrame:
    """Give the rows of a table of `MOVES` that kept lines tell."""
    of_line = {
        "cluster": F.col("cluster"),
        **{name: F.col("row")[name] for name in ("broker_id", "logged_at", "logged_date", "api")},
        **{name: F.col("row")[name] for name in ("client_id", "correlation_id", "principal")},
        **{name: F.col(name) for name in ("node", "source", "position", "topic", "partition", "offset")},
        "parser_version": F.lit(PARSER_VERSION),
        "told_by": F.lit(REQUEST_LOG),
    }
    wanted = [column.alias(name) for name, column in of_line.items() if name in table.schema.names]
    told = F.inline(F.col("admin")[table.name])
    return parsed.where(has_rows_of(table)).select(*wanted, told).to(table.schema)


def _throttles(api: Column, document: Column) -> Column:
    """Read the throttle settings of a request that alters configurations, each with its resource's error."""
    request, response = document.request, document.response
    resources = F.filter(request.resources, lambda one: one.resourceType.isin(*RESOURCES))
    is_dry = F.coalesce(request.validateOnly, F.lit(False))

    def of_resource(resource: Column) -> Column:
        answers = F.filter(
            response.responses,
            lambda answer: (
                (answer.resourceType == resource.resourceType)
                & answer.resourceName.eqNullSafe(resource.resourceName)
            ),
        )
        error = F.get(answers, F.lit(0)).errorCode
        named = F.filter(resource.configs, lambda config: is_throttle(config["name"]))
        return F.transform(
            F.when(api == WHOLE, F.concat(named, _unnamed(resource))).otherwise(named),
            lambda config: _throttle(
                resource, config, _operation(api, config), error, is_applied=(error == 0) & ~is_dry
            ),
        )

    return F.flatten(F.transform(resources, of_resource))


def _unnamed(resource: Column) -> Column:
    """List the throttle settings of the resource's type that it does not name, as ones without a value."""

    def unset(configs: tuple[str, ...]) -> Column:
        names = F.array(*(F.lit(name) for name in configs))
        return F.transform(
            F.array_except(names, F.transform(resource.configs, lambda config: config["name"])),
            lambda name: F.struct(
                name.alias("name"),
                F.lit(None).cast("int").alias("configOperation"),
                F.lit(None).cast("string").alias("value"),
            ),
        )

    return F.coalesce(
        *(F.when(resource.resourceType == n, unset(SETTINGS[of])) for n, of in RESOURCES.items())
    )


def _operation(api: Column, config: Column) -> Column:
    named = F.coalesce(*(F.when(config.configOperation == n, word) for n, word in OPERATIONS.items()))
    return F.when(api == WHOLE, F.when(config["value"].isNull(), "delete").otherwise("set")).otherwise(named)


def _throttle(
    resource: Column, config: Column, operation: Column, error: Column, *, is_applied: Column
) -> Column:
    value = F.when(operation != "delete", config["value"])
    is_list = config["name"].endswith("replicas")
    word = F.coalesce(*(F.when(resource.resourceType == n, name) for n, name in RESOURCES.items()))
    return F.struct(
        word.alias("resource"),
        F.nullif(resource.resourceName, F.lit("")).alias("resource_name"),
        config["name"].alias("config"),
        operation.alias("operation"),
        value.alias("value"),
        F.when(~is_list, F.trim(value)).try_cast("bigint").alias("rate_bytes_per_s"),
        F.when(is_list, replicas(value)).alias("replicas"),
        F.when(is_list, wildcard(value)).alias("is_wildcard"),
        error.alias("error_code"),
        is_applied.alias("is_applied"),
    )


def _altered(document: Column) -> Column:
    """Read what is asked to move where; the answers come in an order of their own."""
    response = document.response
    answers = _each(
        response.responses,
        lambda topic: F.transform(
            topic.partitions, lambda p: F.struct(topic["name"].alias("topic"), p.alias("of"))
        ),
    )

    def read(topic: Column, asked: Column) -> Column:
        own = F.filter(
            answers,
            lambda one: (one.topic == topic["name"]) & (one.of.partitionIndex == asked.partitionIndex),
        )
        error = _error(response, F.get(own, F.lit(0)).of.errorCode)
        return _move(topic, asked, replicas=asked.replicas, error_code=error)

    return _each(
        document.request.topics,
        lambda topic: F.transform(topic.partitions, lambda asked: read(topic, asked)),
    )


def _listed(document: Column) -> Column:
    """Read which moves were under way when somebody asked."""

    def read(topic: Column, listed: Column) -> Column:
        return _move(
            topic,
            listed,
            replicas=listed.replicas,
            adding_replicas=listed.addingReplicas,
            removing_replicas=listed.removingReplicas,
            error_code=document.response.errorCode,
        )

    return _each(
        document.response.topics,
        lambda topic: F.transform(topic.partitions, lambda listed: read(topic, listed)),
    )


def _move(topic: Column, partition: Column, **told: Column) -> Column:
    lists = ("replicas", "adding_replicas", "removing_replicas")
    return F.struct(
        topic["name"].alias("topic_name"),
        partition.partitionIndex.alias("partition_index"),
        *(told.get(name, F.lit(None)).cast("array<int>").alias(name) for name in lists),
        told["error_code"].alias("error_code"),
    )


def _in_sync(document: Column) -> Column:
    """Read who is in sync: what the controller answered, else, where it refused, what was asked for."""
    request, response = document.request, document.response
    answers = _each(
        response.topics,
        lambda topic: F.transform(
            topic.partitions, lambda p: F.struct(_topic_key(topic).alias("topic"), p.alias("of"))
        ),
    )

    def read(topic: Column, asked: Column) -> Column:
        own = F.filter(
            answers,
            lambda one: (one.topic == _topic_key(topic)) & (one.of.partitionIndex == asked.partitionIndex),
        )
        answer = F.get(own, F.lit(0)).of
        wanted = F.coalesce(asked.newIsr, F.transform(asked.newIsrWithEpochs, lambda one: one.brokerId))
        error = _error(response, answer.errorCode)
        return F.struct(
            topic.topicId.alias("topic_id"),
            F.coalesce(topic.topicName, topic["name"]).alias("topic_name"),
            asked.partitionIndex.alias("partition_index"),
            request.brokerId.alias("leader_id"),
            asked.leaderEpoch.alias("leader_epoch"),
            F.when(error == 0, answer.partitionEpoch).alias("partition_epoch"),
            F.array_sort(F.coalesce(F.when(error == 0, answer.isr), wanted)).alias("isr"),
            error.alias("error_code"),
        )

    return _each(
        request.topics, lambda topic: F.transform(topic.partitions, lambda asked: read(topic, asked))
    )


def _topic_key(topic: Column) -> Column:
    return F.coalesce(topic.topicId, topic.topicName, topic["name"])


def _error(response: Column, of_partition: Column) -> Column:
    """Take the error of the whole where there is one, else the partition's own."""
    return F.coalesce(F.when(response.errorCode != 0, response.errorCode), of_partition)


def _each(topics: Column, partitions_of: Callable[[Column], Column]) -> Column:
    return F.flatten(F.transform(topics, partitions_of))
