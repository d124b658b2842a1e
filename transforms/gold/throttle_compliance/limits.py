"""The rate limits in force and the throttled replicas over time, from config changes (KIP-73)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.configs import direction_of
from transforms.parse.throttles import LISTS, RATES, UNLIMITED

BROKER = ("cluster", "broker_id", "direction")
VALUE = ("operation", "replicas", "is_wildcard")


def limits(changes: DataFrame, brokers: DataFrame) -> DataFrame:
    """
    Return each rate with its time in force: `limited_from` to `limited_until` (NULL: still in force).

    `changes` is the whole table `silver.throttle_changes`. `brokers` (cluster, broker_id) are the brokers
    that a cluster-wide default applies to. A broker's own rate overrides the default. A rate that was set
    before the first observed change is unknown.
    """
    set_rates = _applied(changes, "broker", RATES).withColumn("rate", F.struct(_rate().alias("bytes_per_s")))
    nothing = F.lit(None).cast(set_rates.schema["rate"].dataType)
    own = set_rates.filter(F.col("resource_name").isNotNull()).select(
        "cluster",
        F.col("resource_name").try_cast("int").alias("broker_id"),
        *_change_columns(),
        F.col("rate").alias("own"),
        nothing.alias("default"),
    )
    defaults = (
        set_rates.filter(F.col("resource_name").isNull())
        .join(brokers.select("cluster", "broker_id").distinct(), on="cluster", how="inner")
        .select(
            "cluster", "broker_id", *_change_columns(), nothing.alias("own"), F.col("rate").alias("default")
        )
    )
    in_order = Window.partitionBy(*BROKER).orderBy("logged_at", "position")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    own_rate, default_rate = (F.last(name, ignorenulls=True).over(so_far) for name in ("own", "default"))
    in_force = F.coalesce(own_rate["bytes_per_s"], default_rate["bytes_per_s"])
    return (
        own.unionByName(defaults)
        .withColumn("limit_bytes_per_s", in_force)
        .withColumn("before", F.lag("limit_bytes_per_s").over(in_order))
        .filter(~F.col("limit_bytes_per_s").eqNullSafe(F.col("before")))
        .withColumn("limited_until", F.lead("logged_at").over(in_order))
        .filter(F.col("limit_bytes_per_s").isNotNull())
        .select(*BROKER, "limit_bytes_per_s", F.col("logged_at").alias("limited_from"), "limited_until")
    )


def throttled(changes: DataFrame) -> DataFrame:
    """
    Return each throttled replica with its time on a list: `listed_from` to `listed_until` (NULL: still).

    A list that is `*` has one row, whose partition and broker are NULL and mean all.
    """
    every = _applied(changes, "topic", LISTS)
    own = every.filter(F.col("resource_name").isNotNull())
    # A poll's rows without a topic name mean that all topics it does not name have no list.
    others = every.filter(F.col("resource_name").isNull()).drop("resource_name")
    known = own.select("cluster", "resource_name", "direction").distinct()
    by_topic = own.unionByName(others.join(known, on=["cluster", "direction"], how="inner"))
    event = F.struct("logged_at", "position", *VALUE)
    gathered = (
        by_topic.transform(news)
        .groupBy("cluster", F.col("resource_name").alias("topic"), "direction")
        .agg(F.array_sort(F.collect_list(event)).alias("events"))
    )
    listed = gathered.select(
        "cluster", "topic", "direction", F.explode(_with_ends(_states(F.col("events")))).alias("state")
    )
    everyone = F.array(F.lit(None).cast("struct<partition:int,broker_id:int>"))
    named = F.when(F.col("state.is_wildcard"), everyone).otherwise(F.col("state.replicas"))
    return listed.select(
        "cluster",
        "topic",
        "direction",
        F.col("state.at").alias("listed_from"),
        F.col("state.until").alias("listed_until"),
        F.explode(named).alias("replica"),
    ).select(
        "cluster",
        "topic",
        "direction",
        F.col("replica.partition").alias("listed_partition"),
        F.col("replica.broker_id").alias("listed_broker"),
        "listed_from",
        "listed_until",
    )


def news(changes: DataFrame) -> DataFrame:
    """
    Return the changes that can alter a list; a poll repeats the same lists for hours and days.

    Removed are changes that another one at the same instant replaces (a poll deletes all lists, then sets
    those that it found), and changes that set a list to the value of the change before.
    """
    of_list = Window.partitionBy("cluster", "resource_name", "direction")
    in_order = of_list.orderBy("logged_at", "position", *VALUE)
    value = F.struct(*VALUE)
    replaces = F.coalesce(F.col("operation").isin("set", "delete"), F.lit(False))
    is_now = F.lead("logged_at").over(in_order).eqNullSafe(F.col("logged_at"))
    return (
        changes.withColumn("is_replaced", is_now & F.lead(replaces).over(in_order))
        .filter(~F.col("is_replaced"))
        .withColumn("is_repeated", replaces & value.eqNullSafe(F.lag(value).over(in_order)))
        .filter(~F.col("is_repeated"))
        .drop("is_replaced", "is_repeated")
    )


def with_limit(rows: DataFrame, in_force: DataFrame) -> DataFrame:
    """Add `limit_bytes_per_s` and `limited_from` to rows with a broker, a direction and an instant `at`."""
    limits_of_broker = in_force.withColumnsRenamed({name: f"of_{name}" for name in BROKER})
    is_same_broker = [F.col(name) == F.col(f"of_{name}") for name in BROKER]
    on = [*is_same_broker, *during("at", "limited_from", "limited_until")]
    joined = rows.join(F.broadcast(limits_of_broker), on=on, how="left")
    return joined.drop(*(f"of_{name}" for name in BROKER), "limited_until")


def during(at: str, since: str, until: str) -> list[Column]:
    """Return the join conditions that `at` is in [since, until); a NULL `until` means no end yet."""
    is_before_end = F.col(until).isNull() | (F.col(at) < F.col(until))
    return [F.col(at) >= F.col(since), is_before_end]


def _applied(changes: DataFrame, resource: str, configs: tuple[str, ...]) -> DataFrame:
    """Return the changes of the configs that took effect; one without a logged answer counts as applied."""
    is_refused = F.col("is_applied").eqNullSafe(F.lit(False))
    is_wanted = (F.col("resource") == resource) & F.col("config").isin(*configs)
    kept = changes.filter(is_wanted & ~is_refused & F.col("logged_at").isNotNull())
    value = ("rate_bytes_per_s", "replicas", "is_wildcard")
    return kept.select(
        "cluster",
        "resource_name",
        "operation",
        *value,
        direction_of(F.col("config")).alias("direction"),
        "logged_at",
        "position",
    )


def _change_columns() -> list[str]:
    return ["direction", "logged_at", "position"]


def _rate() -> Column:
    is_rate = (F.col("operation") == "set") & (F.col("rate_bytes_per_s") < UNLIMITED)
    return F.when(is_rate, F.col("rate_bytes_per_s"))


def _states(events: Column) -> Column:
    """Return the state of a list after each of its changes."""
    none = F.array().cast("array<struct<partition:int,broker_id:int>>")
    state = (
        "array<struct<at:timestamp,replicas:array<struct<partition:int,broker_id:int>>,is_wildcard:boolean>>"
    )
    return F.aggregate(events, F.array().cast(state), lambda states, event: _next(states, event, none))


def _with_ends(states: Column) -> Column:
    """Add `until` to each state: the instant of the next state, NULL for the last one."""
    return F.transform(
        states,
        lambda state, index: state.withField("until", F.get(states, index + 1)["at"]),
    )


def _next(states: Column, event: Column, none: Column) -> Column:
    """Append the state after a change, unless nothing changed; replace a state at the same instant."""
    last = F.get(states, F.size(states) - 1)
    held = F.coalesce(last["replicas"], none)
    named = F.coalesce(event["replicas"], none)
    replicas = (
        F.when(event["operation"] == "append", F.array_union(held, named))
        .when(event["operation"] == "subtract", F.array_except(held, named))
        .when(event["operation"] == "set", named)
        .otherwise(none)
    )
    is_kept = event["operation"].isin("append", "subtract") & F.coalesce(last["is_wildcard"], F.lit(False))
    is_wildcard = F.coalesce(event["is_wildcard"], F.lit(False)) & event["operation"].isin("set", "append")
    new = F.struct(
        event["logged_at"].alias("at"),
        replicas.alias("replicas"),
        (is_kept | is_wildcard).alias("is_wildcard"),
    )
    is_same = F.coalesce(last["replicas"] == replicas, F.lit(False)) & (
        last["is_wildcard"] == new["is_wildcard"]
    )
    is_now = F.coalesce(last["at"] == event["logged_at"], F.lit(False))
    earlier = F.slice(states, 1, F.size(states) - 1)
    return (
        F.when(F.coalesce(is_same, F.lit(False)), states)
        .when(is_now, F.concat(earlier, F.array(new)))
        .otherwise(F.concat(states, F.array(new)))
    )
