"""Pseudonyms: names and addresses hashed with a key, so that they are unreadable and can still be joined."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Any, TypeVar

DIGITS = 16
OF_BROKERS = re.compile(r"broker-[0-9]+-fetcher-[0-9]+")
"""Client ids that Kafka assigns to follower fetchers; they contain no user-defined text."""

ParsedRow = TypeVar("ParsedRow", bound=tuple[object, ...])

NAMING = re.compile(
    r"((?:--[\w-]+=)?\s*(client\.id|(?:sasl|ssl)\.[\w.]+|bootstrap\.servers)\s*=\s*|--bootstrap-servers?=)"
)
"""The start of a `name=value` argument that names a client, a user or a host."""

HOSTS_FOLLOW = ("--bootstrap-server", "--bootstrap-servers", "--broker-list")

IN_CLEAR = frozenset(
    {
        *("topic", "partition", "isfuture", "name", "request", "quantile", "dimensionbrokerid"),
        *("type", "attribute", "version", "error", "delayedoperation", "fetchertype"),
        *("listener", "networkprocessor", "brokerid", "nodeid"),
        *("area", "gc", "pool", "state", "le"),
    }
)
"""
The metric labels whose values are not hashed, without `-` and `_`, in lower case: those that gold reads, tags
of Kafka's MBeans, and those of the JVM and of histograms. No client can choose a value of them but a topic.
Exporters put names and addresses of clients into many others: `id`, `consumer_id`, `broker` (HOST:PORT).
"""

OF_KAFKA = re.compile(
    r"kafka\.request\.logger|state\.change\.logger|(?:kafka|org\.apache)(?:\.\w+)*\.[A-Z][\w$]*"
)
"""
The loggers of Kafka. If the layout has none, a word in brackets at the end of a line is taken for one, for
example an address.
"""


def hash_names(rows: Sequence[ParsedRow], key: str) -> Sequence[ParsedRow]:
    """
    Return the rows of one table with hashed client ids, principals and addresses, in each column of `HIDDEN`.

    Equal names have equal hashes. A principal keeps its type. None and the client ids of follower fetchers
    stay as they are. An empty key changes nothing.

    >>> from typing import NamedTuple
    >>> Login = NamedTuple("Login", [("client_id", str), ("principal", str | None)])
    >>> logins = [Login("payroll", "User:ann"), Login("broker-1-fetcher-0", None)]
    >>> for login in hash_names(logins, "a secret key"):
    ...     print(*login)
    client-2f4fe6b39db6a22c User:1be099a5180d7fba
    broker-1-fetcher-0 None
    """
    names = getattr(rows[0], "_fields", ()) if rows and key else ()
    hashed = [(names.index(name), hide) for name, hide in HIDDEN.items() if name in names]
    if not hashed:
        return rows
    result = []
    for row in rows:
        cells = list(row)
        for at, hide in hashed:
            name = cells[at]
            if name is not None:
                cells[at] = hide(name, key)
        result.append(tuple.__new__(type(row), cells))
    return result


@lru_cache(maxsize=65_536)
def hash_client_id(client_id: str, key: str) -> str:
    """Return the hashed client id."""
    return client_id if OF_BROKERS.fullmatch(client_id) else f"client-{_hash(client_id, key)}"


@lru_cache(maxsize=65_536)
def hash_principal(principal: str, key: str) -> str:
    """Return the principal's type, `User` if it has none, and the hash of the whole principal."""
    kind, colon, _ = principal.partition(":")
    return f"{kind if colon else 'User'}:{_hash(principal, key)}"


@lru_cache(maxsize=65_536)
def hash_connection(connection: str, key: str) -> str:
    """Return the hash of a connection id, which has the addresses and ports of client and broker."""
    return f"connection-{_hash(connection, key)}"


@lru_cache(maxsize=4_096)
def hash_logger(logger: str | None, key: str) -> str | None:
    """
    Return the logger of a line; the hash of one that is not Kafka's.

    >>> [hash_logger(name, "a secret key") for name in ("kafka.server.KafkaApis", "10.1.2.3:9092", None)]
    ['kafka.server.KafkaApis', 'logger-f21c71723aaf43ee', None]
    """
    if logger is None or OF_KAFKA.fullmatch(logger):
        return logger
    return f"logger-{_hash(logger, key)}"


def hash_labels(labels: list[tuple[str, str]], key: str) -> list[tuple[str, str]]:
    """
    Return the labels of a metric, hashed except those of `IN_CLEAR`.

    >>> hash_labels([("client-id", "payroll"), ("topic", "orders")], "a secret key")
    [('client-id', 'client-2f4fe6b39db6a22c'), ('topic', 'orders')]
    """
    return [(name, value if _is_in_clear(name) else hash_client_id(value, key)) for name, value in labels]


@lru_cache(maxsize=4_096)
def _is_in_clear(label: str) -> bool:
    return label.lower().replace("-", "").replace("_", "") in IN_CLEAR


def hash_tags(tags: dict[str, str], key: str) -> dict[str, str]:
    """
    Return the tags of a client metric, hashed as labels are.

    >>> hash_tags({"client-id": "payroll", "topic": "orders"}, "a secret key")
    {'client-id': 'client-2f4fe6b39db6a22c', 'topic': 'orders'}
    """
    return dict(hash_labels(list(tags.items()), key))


def hash_configuration(entries: list[str | None], key: str) -> list[str | None]:
    """
    Return the arguments of a client with a hashed client id; users, hosts and files are cut.

    `collectors.perf_test` masks secrets; a user name in a `sasl.*` option is no secret there.

    >>> hash_configuration(["--producer-props=client.id=payroll", "sasl.username=ann", "acks=all"], "a key")
    ['--producer-props=client.id=client-72c8d15c3ad894c0', 'sasl.username=', 'acks=all']
    >>> hash_configuration(["--bootstrap-server", "b1:9092", "bootstrap.servers=b1:9092"], "a key")
    ['--bootstrap-server', '', 'bootstrap.servers=']
    """
    before = pairwise([None, *entries])
    return ["" if option in HOSTS_FOLLOW else entry and _hash_entry(entry, key) for option, entry in before]


def _hash_entry(entry: str, key: str) -> str:
    found = NAMING.match(entry)
    if found is None:
        return entry
    return found[1] + (hash_client_id(entry[found.end() :], key) if found[2] == "client.id" else "")


HIDDEN: dict[str, Callable[[Any, str], Any]] = {
    "client_id": hash_client_id,
    "principal": hash_principal,
    "connection": hash_connection,
    "labels": hash_labels,
    "tags": hash_tags,
    "configuration": hash_configuration,
}


def _hash(name: str, key: str) -> str:
    # Both the inner and the outer hash have the key, as in HMAC, which prevents length-extension attacks.
    inner = sha256(f"{key}\0{name}".encode()).hexdigest()
    return sha256(f"{key}\1{inner}".encode()).hexdigest()[:DIGITS]
