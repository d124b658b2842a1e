"""Who sends a request, by what a client cannot choose itself: the listener and the principal."""

from typing import NamedTuple

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client without authentication."""


class Identities(NamedTuple):
    """
    The listeners of brokers and controllers, their principals, and those of Plumbline's own clients.

    Empty: any listener, any principal. Then gold learns the listeners (`silver.listeners`).
    """

    follower_listeners: tuple[str, ...] = ()
    controller_listeners: tuple[str, ...] = ()
    follower_principals: tuple[str, ...] = ()
    own_principals: tuple[str, ...] = (ANONYMOUS,)
    own_client_prefix: str = "plumbline-"

    def may_replicate(self, kind: str, listener: str | None, principal: str | None) -> bool:
        """
        Return whether a fetch with a replica id can be a follower's, or of kind `raft` if it looks so.

        >>> brokers = Identities(follower_listeners=("REPLICATION",), controller_listeners=("CONTROLLER",))
        >>> listeners = ("REPLICATION", "CONTROLLER", "CLIENT")
        >>> [brokers.may_replicate("follower", listener, "User:ann") for listener in listeners]
        [True, False, False]
        >>> [brokers.may_replicate("raft", listener, "User:ann") for listener in listeners]
        [False, True, False]
        >>> Identities(follower_principals=("User:broker",)).may_replicate("raft", "CONTROLLER", "User:ann")
        False
        """
        listeners = self.controller_listeners if kind == "raft" else self.follower_listeners
        return (not listeners or listener in listeners) and (
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
