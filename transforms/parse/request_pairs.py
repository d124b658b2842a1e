"""
The partitions that a request asked for, brought together with those that were answered.

An element is one of `silver.requests.partitions`; both lists come as `struct(asked, answered)`.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemas.silver import REQUEST_PARTITION
from transforms.parse.outcome import let

FEW_PAIRS = 1_000
"""So many comparisons cost less than sorting; a line of 4 MiB could ask for a thousand million."""

ASKED, ANSWERED = 0, 1


def brought_together(both: Column) -> Column:
    """Join asked to answered: each with each where they are few, else over one sorted list."""
    is_few = F.size(both.asked) * F.size(both.answered).cast("bigint") <= FEW_PAIRS
    return F.when(is_few, _joined(both)).otherwise(let(_sorted(both), _neighbours))


def _sorted(both: Column) -> Column:
    """Give (key, side, place, element) in order: what was asked for, then its answer, right behind it."""

    def sides(elements: Column, side: int) -> Column:
        return F.transform(
            elements,
            lambda element, place: F.struct(
                _key(element).alias("key"),
                F.lit(side).alias("side"),
                place.alias("place"),
                element.alias("element"),
            ),
        )

    return F.array_sort(F.concat(sides(both.asked, ASKED), sides(both.answered, ANSWERED)))


def _neighbours(listed: Column) -> Column:
    """Do the same as `_joined`, over the sorted list."""

    def joined(one: Column, at: Column) -> Column:
        before, behind = F.get(listed, at - 1), F.get(listed, at + 1)
        is_asked_before = (before.key == one.key) & (before.side == ASKED)
        is_answered = (one.side == ASKED) & (behind.key == one.key)
        asked = F.when((one.side == ANSWERED) & is_asked_before, before.element)
        return F.struct(
            (-one.side).alias("side"),
            one.place.alias("place"),
            F.coalesce(is_answered, F.lit(False)).alias("is_dropped"),
            let(asked, lambda known: merged(one.element, known)).alias("element"),
        )

    kept = F.filter(F.transform(listed, joined), lambda one: ~one.is_dropped)
    return F.transform(F.array_sort(kept), lambda one: one.element)


def _key(element: Column) -> Column:
    return F.concat_ws("/", topic_of(element), element.partition)


def topic_of(element: Column) -> Column:
    """Give the id, else the name."""
    return F.coalesce(element.topic_id, element.topic_name)


def _joined(both: Column) -> Column:
    """Give the answers in their order, each with what was asked for, and behind them what got none."""

    def asked_for(answer: Column) -> Column:
        return F.get(F.filter(both.asked, lambda asked: _is_same(asked, answer)), F.lit(0))

    def is_unanswered(asked: Column) -> Column:
        return ~F.exists(both.answered, lambda answer: _is_same(asked, answer))

    answers = F.transform(
        both.answered, lambda answer: let(asked_for(answer), lambda asked: merged(answer, asked))
    )
    return F.concat(answers, F.filter(both.asked, is_unanswered))


def _is_same(one: Column, other: Column) -> Column:
    return topic_of(one).eqNullSafe(topic_of(other)) & one.partition.eqNullSafe(other.partition)


def merged(answer: Column, asked: Column) -> Column:
    """Give what the answer tells, and of what it leaves out, what was asked for."""
    return F.struct(
        *(F.coalesce(answer[name], asked[name]).alias(name) for name in REQUEST_PARTITION.fieldNames())
    )
