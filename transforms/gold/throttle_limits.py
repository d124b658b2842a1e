"""Which rate was in force when, and which replicas were throttled, from what brokers were told (KIP-73)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_configs import direction_of
from transforms.parse.throttles import LISTS, RATES, UNLIMITED

BROKER = ("cluster", "broker_id", "direction")
VALUE = ("operation", "replicas", "is_wildcard")


def limits(changes: DataFrame, brokers: DataFrame) -> DataFrame:
    """
    Give each rate with the time in which it was in force: `limited_from`, `limited_until` (NULL: still).

    `changes` are `silver.throttle_changes`, all of them; `brokers` (cluster, broker_id) are those that a
    default of all brokers is for. A broker's own rate goes before the default. What was set before the first
    change that was seen is not known.
    """
    told = _applied(changes, "broker", RATES).withColumn("rate", F.struct(_rate().alias("bytes_per_s")))
    nothing = F.lit(None).cast(told.schema["rate"].dataType)
    own = told.filter(F.col("resource_name").isNotNull()).select(
        "cluster",
        F.col("resource_name").try_cast("int").alias("broker_id"),
        *_of_change(),
        F.col("rate").alias("own"),
        nothing.alias("default"),
    )
    defaults = (
        told.filter(F.col("resource_name").isNull())
        .join(brokers.select("cluster", "broker_id").distinct(), on="cluster", how="inner")
        .select("cluster", "broker_id", *_of_change(), nothing.alias("own"), F.col("rate").alias("default"))
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
    Give each throttled replica with the time in which a list named it: `listed_from`, `listed_until`.

    Of a list that is `*` there is one row: its partition and broker are NULL and stand for all.
    """
    every = _applied(changes, "topic", LISTS)
    own = every.filter(F.col("resource_name").isNotNull())
    # A poll tells of all topics that it does not name that they have no list.
    others = every.filter(F.col("resource_name").isNull()).drop("resource_name")
    known = own.select("cluster", "resource_name", "direction").distinct()
    told = own.unionByName(others.join(known, on=["cluster", "direction"], how="inner"))
    event = F.struct("logged_at", "position", *VALUE)
    gathered = (
        told.transform(news)
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


def news(told: DataFrame) -> DataFrame:
    """
    Keep the changes of lists that can tell something new: a poll tells the same again for hours and days.

    What is replaced at its own instant is left out (a poll deletes all lists and sets those that it found),
    and so is what replaces a list by what the change before it put there.
    """
    of_list = Window.partitionBy("cluster", "resource_name", "direction")
    in_order = of_list.orderBy("logged_at", "position", *VALUE)
    value = F.struct(*VALUE)
    replaces = F.coalesce(F.col("operation").isin("set", "delete"), F.lit(False))
    is_now = F.lead("logged_at").over(in_order).eqNullSafe(F.col("logged_at"))
    return (
        told.withColumn("is_replaced", is_now & F.lead(replaces).over(in_order))
        .filter(~F.col("is_replaced"))
        .withColumn("is_again", replaces & value.eqNullSafe(F.lag(value).over(in_order)))
        .filter(~F.col("is_again"))
        .drop("is_replaced", "is_again")
    )


def with_limit(rows: DataFrame, in_force: DataFrame) -> DataFrame:
    """Add `limit_bytes_per_s` and `limited_from` to rows of a broker, direction and instant `at`."""
    of = in_force.withColumnsRenamed({name: f"of_{name}" for name in BROKER})
    is_its = [F.col(name) == F.col(f"of_{name}") for name in BROKER]
    on = [*is_its, *during("at", "limited_from", "limited_until")]
    joined = rows.join(F.broadcast(of), on=on, how="left")
    return joined.drop(*(f"of_{name}" for name in BROKER), "limited_until")


def during(at: str, since: str, until: str) -> list[Column]:
    """Tell that an instant lies in a time whose end is NULL while it lasts."""
    is_before_end = F.col(until).isNull() | (F.col(at) < F.col(until))
    return [F.col(at) >= F.col(since), is_before_end]


def _applied(changes: DataFrame, resource: str, configs: tuple[str, ...]) -> DataFrame:
    """Keep the changes that took effect; where no answer was seen they are taken to."""
    is_refused = F.col("is_applied").eqNullSafe(F.lit(False))
    is_its = (F.col("resource") == resource) & F.col("config").isin(*configs)
    kept = changes.filter(is_its & ~is_refused & F.col("logged_at").isNotNull())
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


def _of_change() -> list[str]:
    return ["direction", "logged_at", "position"]


def _rate() -> Column:
    is_rate = (F.col("operation") == "set") & (F.col("rate_bytes_per_s") < UNLIMITED)
    return F.when(is_rate, F.col("rate_bytes_per_s"))


def _states(events: Column) -> Column:
    """Follow a list through its changes: what it held after each."""
    none = F.array().cast("array<struct<partition:int,broker_id:int>>")
    state = (
        "array<struct<at:timestamp,replicas:array<struct<partition:int,broker_id:int>>,is_wildcard:boolean>>"
    )
    return F.aggregate(events, F.array().cast(state), lambda states, event: _next(states, event, none))


def _with_ends(states: Column) -> Column:
    """Add to each state when the next one came: `until`, NULL of the last."""
    return F.transform(
        states,
        lambda state, nth: state.withField("until", F.get(states, nth + 1)["at"]),
    )


def _next(states: Column, event: Column, none: Column) -> Column:
    """Add what a list holds after a change, unless it held that; one at the same instant is replaced."""
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
