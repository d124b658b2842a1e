"""Errors that stop a collector; each message says what to do."""

from conf.exit_codes import CommandError


class CollectorError(CommandError):
    """The collector cannot continue. The saved positions are those of the last acknowledged lines."""
