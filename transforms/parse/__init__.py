"""Parsers from records to silver rows: one module or package per source, each a pure function."""
