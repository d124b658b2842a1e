"""The rows of a scrape: two silver tables as rows, and samples as columns."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transforms.parse.columns import ORIGIN, row_type

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MetricScrape = row_type(
    "MetricScrape",
    "cluster broker_id logged_at logged_date format bytes lines samples comments rejected",
    ORIGIN,
)

MetricSeries = row_type(
    "MetricSeries", "cluster series_id name labels node broker_id type first_at parser_version"
)


class SampleBlock(NamedTuple):
    """Rows of `silver.metric_samples` as columns; `at` is one instant where all samples share it."""

    cluster: str
    series_id: Ints
    at: Ints | int  # microseconds since 1970 UTC
    value: Floats
