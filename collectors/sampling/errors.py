"""Errors that end a sample; each message says what to do."""


class SampleError(Exception):
    """A sample failed. No logger is left at DEBUG, unless the message says so."""
