"""The request log of a broker: lines of `Completed request:` as rows of silver."""

from transforms.parse.requests.parser import parse

__all__ = ["parse"]
