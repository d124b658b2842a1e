"""Names that people gave, hashed with a key: nobody can read them, and everything can still be joined."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TypeVar

DIGITS = 16
OF_BROKERS = re.compile(r"broker-[0-9]+-fetcher-[0-9]+")
"""Client ids that Kafka itself gives to the fetchers of followers: they say nothing about people."""

Row = TypeVar("Row", bound=tuple[object, ...])


def hash_names(rows: Sequence[Row], key: str) -> Sequence[Row]:
    """
    Return rows of one table with `client_id` and `principal`, where it has them, hashed with a key.

    The same name gives the same hash. A principal keeps its type. None stays None, and so do the ids of
    followers' fetchers. An empty key changes nothing.

    >>> from typing import NamedTuple
    >>> Login = NamedTuple("Login", [("client_id", str), ("principal", str | None)])
    >>> logins = [Login("payroll", "User:ann"), Login("broker-1-fetcher-0", None)]
    >>> for login in hash_names(logins, "a key that nobody knows"):
    ...     print(*login)
    client-60f8bb994c69b36d User:091287dc16039b89
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
            if isinstance(name, str):
                cells[at] = hide(name, key)
        result.append(tuple.__new__(type(row), cells))
    return result


@lru_cache(maxsize=65_536)
def hash_client_id(client_id: str, key: str) -> str:
    """Return the hashed client id."""
    return client_id if OF_BROKERS.fullmatch(client_id) else f"client-{_hash(client_id, key)}"


@lru_cache(maxsize=65_536)
def hash_principal(principal: str, key: str) -> str:
    """Return the principal's type and hash."""
    return f"{principal.partition(':')[0]}:{_hash(principal, key)}"


HIDDEN = {"client_id": hash_client_id, "principal": hash_principal}


def _hash(name: str, key: str) -> str:
    # The key on either side of an inner hash, like HMAC: nobody can lengthen a name and know its hash.
    inner = sha256(f"{key}\0{name}".encode()).hexdigest()
    return sha256(f"{key}\1{inner}".encode()).hexdigest()[:DIGITS]
