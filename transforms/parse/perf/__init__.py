"""Performance tests: what ProducerPerformance prints, and the JSON of `plumbline perf-test`."""

from transforms.parse.perf.line import parse

__all__ = ["parse"]
