"""Pseudonyms: user-defined names hashed with a key, so that they are unreadable and can still be joined."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

DIGITS = 16
OF_BROKERS = re.compile(r"broker-[0-9]+-fetcher-[0-9]+")
"""Client ids that Kafka assigns to follower fetchers; they contain no user-defined text."""

ParsedRow = TypeVar("ParsedRow", bound=tuple[object, ...])


NAMING = re.compile(r"((?:--[\w-]+=)?\s*(client\.id|sasl\.[\w.]+)\s*=\s*)")
"""The start of a `name=value` argument that names a client or a user."""


def hash_names(rows: Sequence[ParsedRow], key: str) -> Sequence[ParsedRow]:
    """
    Return the rows of one table with hashed client ids and principals, in each column of `HIDDEN`.

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
    """Return the principal's type and the hash of the whole principal."""
    return f"{principal.partition(':')[0]}:{_hash(principal, key)}"


def hash_tags(tags: dict[str, str], key: str) -> dict[str, str]:
    """
    Return the tags of a client metric with a hashed client id.

    >>> hash_tags({"client-id": "payroll", "topic": "orders"}, "a secret key")
    {'client-id': 'client-2f4fe6b39db6a22c', 'topic': 'orders'}
    """
    return {
        name: hash_client_id(value, key) if name == "client-id" else value for name, value in tags.items()
    }


def hash_configuration(entries: list[str | None], key: str) -> list[str | None]:
    """
    Return the arguments of a client with a hashed client id, and with `sasl.*` options cut after their name.

    `collectors.perf_test` masks secrets; a user name in a `sasl.*` option is no secret there.

    >>> hash_configuration(["--producer-props=client.id=payroll", "sasl.username=ann", "acks=all"], "a key")
    ['--producer-props=client.id=client-72c8d15c3ad894c0', 'sasl.username=', 'acks=all']
    """
    return [None if entry is None else _hash_entry(entry, key) for entry in entries]


def _hash_entry(entry: str, key: str) -> str:
    found = NAMING.match(entry)
    if found is None:
        return entry
    return found[1] + (hash_client_id(entry[found.end() :], key) if found[2] == "client.id" else "")


HIDDEN: dict[str, Callable[[Any, str], Any]] = {
    "client_id": hash_client_id,
    "principal": hash_principal,
    "tags": hash_tags,
    "configuration": hash_configuration,
}


def _hash(name: str, key: str) -> str:
    # Both the inner and the outer hash have the key, as in HMAC, which prevents length-extension attacks.
    inner = sha256(f"{key}\0{name}".encode()).hexdigest()
    return sha256(f"{key}\1{inner}".encode()).hexdigest()[:DIGITS]
