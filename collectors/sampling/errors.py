"""Errors that end a sample; each message says what to do."""

from conf.exit_codes import CommandError


class SampleError(CommandError):
    """A sample failed. No logger is left at DEBUG, unless the message says so."""
