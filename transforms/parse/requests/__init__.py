"""Parser for a broker's request log: `Completed request:` lines to silver rows."""

from transforms.parse.requests.parser import parse

__all__ = ["parse"]
