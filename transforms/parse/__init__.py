"""Bronze to silver: one module a source, each a pure function of one raw row."""

PARSER_VERSION = 3
"""Counted up with every change of what a line is read as; each silver row carries it."""
