"""Parser for performance tests: the output of ProducerPerformance and the JSON of `plumbline perf-test`."""

from transforms.parse.perf.line import parse

__all__ = ["parse"]
