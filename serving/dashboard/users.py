"""The users of the dashboard: HTTP basic authentication against a file of hashes."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import flask
from flask import Response
from werkzeug.datastructures import Authorization
from werkzeug.security import check_password_hash

METHODS = ("scrypt:", "pbkdf2:")


class UsersError(Exception):
    """The file of users cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Users:
    """The hash of each user's password, by name."""

    hashes: dict[str, str]

    @classmethod
    def of_file(cls, path: Path) -> "Users":
        """
        Read lines `NAME:HASH` of werkzeug's `generate_password_hash`; empty lines are left out.

        Raises:
            UsersError: the file cannot be read, has no user, or a line has another form.

        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            message = f"--users {path} cannot be read: {error}; name a file of lines NAME:HASH"
            raise UsersError(message) from error
        hashes = {}
        for number, line in enumerate(lines, start=1):
            name, _, hashed = line.strip().partition(":")
            if not name and not hashed:
                continue
            if not name or not _is_hash(hashed):
                message = (
                    f"--users {path}, line {number}: not NAME:HASH with a hash of werkzeug, such as "
                    "scrypt:32768:8:1$SALT$DIGITS (docs/dashboard.md has the command)"
                )
                raise UsersError(message)
            hashes[name] = hashed
        if not hashes:
            message = f"--users {path} has no user: without one no login is possible"
            raise UsersError(message)
        return cls(hashes)

    def refusal(self) -> Response | None:
        """Return 401 unless the request of now has the name and the password of a user."""
        given = _login()
        hashed = self.hashes.get(given.username or "") if given and given.type == "basic" else None
        if given and hashed and _is_password(hashed, given.password or ""):
            return None
        ask = {"WWW-Authenticate": 'Basic realm="Plumbline", charset="UTF-8"'}
        return Response("Log in with your name and password.", 401, ask, mimetype="text/plain")


def _login() -> Authorization | None:
    """Return the login of the request of now; None without one that can be read."""
    try:
        return flask.request.authorization
    except ValueError:  # werkzeug 3.1 does not catch it if the header is not ASCII
        return None


def _is_hash(text: str) -> bool:
    """Return whether a text is a hash that passwords can be checked with."""
    if not text.startswith(METHODS) or text.count("$") != 2:  # noqa: PLR2004 (method, salt, digits)
        return False
    try:
        check_password_hash(text, "")
    except (ValueError, TypeError, OverflowError, MemoryError):
        return False
    return True


@lru_cache(maxsize=128)
def _is_password(hashed: str, password: str) -> bool:
    """Return whether a hash is that of a password; a page has dozens of requests, and a hash takes 50 ms."""
    return check_password_hash(hashed, password)
