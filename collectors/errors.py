"""Errors that stop a collector; each message says what to do."""


class CollectorError(Exception):
    """The collector cannot continue. The saved positions are those of the last acknowledged lines."""
