"""What a scrape becomes: rows of two silver tables, and the samples of the third as columns."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class MetricScrape(NamedTuple):
    """A row of `silver.metric_scrapes`."""

    cluster: str | None
    broker_id: int | None
    logged_at: int | None
    logged_date: int | None
    format: str
    bytes: int
    lines: int
    samples: int
    comments: int
    rejected: int
    node: str | None
    source: str | None
    position: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    parser_version: int


class MetricSeries(NamedTuple):
    """A row of `silver.metric_series`."""

    cluster: str
    series_id: int
    name: str
    labels: list[tuple[str, str]]
    node: str | None
    broker_id: int | None
    type: str | None
    first_at: int
    parser_version: int


class SampleBlock(NamedTuple):
    """Rows of `silver.metric_samples` as columns; `at` is one instant where all samples share it."""

    cluster: str
    series_id: Ints
    at: Ints | int  # microseconds since 1970 UTC
    value: Floats
