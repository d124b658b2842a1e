"""What to check for a client without a leader, and for one that looks up too much metadata."""

from collections.abc import Sequence

from answers.clients import UNNAMED, version_of
from answers.formats import count, printable
from answers.next_steps.steps import SERVERS, NextStep, quoted
from schemas.rows import Row

MOST_PARTITIONS = 10


def of_redirect(row: Row) -> list[NextStep]:
    """Return what to check for a client that was not served again after it lost its leader."""
    leaders = NextStep(
        f"See whether {partitions_of(row['partitions'])} of the topic have a leader. With Leader: none, a "
        "broker of its ISR has to come back.",
        f"kafka-topics.sh {SERVERS} --describe --topic={quoted(row['topic'])}",
    )
    return [leaders, _is_running(row), *([] if row["is_hinted"] else [_with_hints(row)])]


def _is_running(row: Row) -> NextStep:
    if row["api"] != "FETCH" or row["client_id"] is None:
        return NextStep(f"See whether {_name(row)} still runs, and what its log says about the topic.")
    members = f"kafka-consumer-groups.sh {SERVERS} --describe --all-groups --members"
    return NextStep(
        f"See whether {_name(row)} is still a member of its group. If not, it ended.",
        f"{members} | grep -F -- {quoted(row['client_id'])}",
    )


def _with_hints(row: Row) -> NextStep:
    return NextStep(
        f"The error did not name the new leader (KIP-951). Upgrade {_name(row)} (version {_version(row)}): "
        "Java clients read the name from 3.7.0 on, librdkafka from 2.5.0 on; brokers send it from 3.7.0 on."
    )


def partitions_of(partitions: Sequence[int]) -> str:
    """
    Return partitions in words.

    >>> partitions_of([3]), partitions_of(range(12))
    ('partition 3', 'partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    shown = ", ".join(map(str, partitions[:MOST_PARTITIONS]))
    more = len(partitions) - MOST_PARTITIONS
    return f"partition{'s' * (len(partitions) > 1)} {shown}{f' and {count(more)} more' if more > 0 else ''}"


def of_lookups(row: Row) -> list[NextStep]:
    """Return what to do about a client that asks for known topics again with each new one."""
    steps = [
        NextStep(
            f"Upgrade {_name(row)} (version {_version(row)}): from 2.5.0 on, Java clients ask only for the "
            "new topic (KIP-526)."
        ),
        NextStep(
            "Until then: use fewer topics per client, or raise metadata.max.age.ms (default: 300000), after "
            "which the client refreshes all its topics."
        ),
    ]
    if row["evicted_topics"]:
        text = (
            f"The client forgot {count(row['evicted_topics'])} topics: raise metadata.max.idle.ms (default: "
            "300000) above its pause between two records to a topic."
        )
        steps.append(NextStep(text))
    return steps


def _name(row: Row) -> str:
    return printable(row["client_id"] or UNNAMED)


def _version(row: Row) -> str:
    return printable(version_of(row))
