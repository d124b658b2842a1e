"""Who sends a request, by what a client cannot choose itself: the listener and the principal."""

from typing import NamedTuple

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client without authentication."""


class Identities(NamedTuple):
    """
    The listeners and principals of followers, and the principals of Plumbline's own clients.

    Empty: any listener, any principal. Then gold learns the listeners (`silver.listeners`).
    """

    follower_listeners: tuple[str, ...] = ()
    follower_principals: tuple[str, ...] = ()
    own_principals: tuple[str, ...] = (ANONYMOUS,)
    own_client_prefix: str = "plumbline-"

    def may_follow(self, listener: str | None, principal: str | None) -> bool:
        """
        Return whether a fetch with a replica id can be a follower's.

        >>> Identities(("REPLICATION",)).may_follow("REPLICATION", "User:broker")
        True
        >>> Identities(("REPLICATION",)).may_follow("CLIENT", "User:broker")
        False
        >>> Identities((), ("User:broker",)).may_follow("CLIENT", "User:mallory")
        False
        """
        return (not self.follower_listeners or listener in self.follower_listeners) and (
            not self.follower_principals or principal in self.follower_principals
        )

    def is_own(self, client_id: str | None, principal: str | None) -> bool | None:
        """
        Return whether a request is Plumbline's own; None without a client id.

        >>> identities = Identities(own_principals=("User:plumbline",))
        >>> [identities.is_own("plumbline-ingest", name) for name in ("User:plumbline", "User:mallory")]
        [True, False]
        """
        if client_id is None:
            return None
        return client_id.startswith(self.own_client_prefix) and principal in self.own_principals
