"""`gold.stock_fetch_total` from metrics: late and repeated scrapes give one row each."""

from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.metric_rows import bean, sample_row, series_row
from transforms.gold.fetch_latency.stock_fetch_total import BUILD

MEAN = bean("TotalTimeMs", "Mean", "FetchFollower")


def test_scrapes_that_arrive_before_their_series_and_again_give_one_row_each(spark, tmp_path):
    lab = GoldLab.empty(spark, tmp_path, BUILD)
    first, second, third = (sample_row(MEAN, at, 500.5 + at) for at in (1, 11, 21))
    for table, rows in (
        (METRIC_SAMPLES, [second]),
        (METRIC_SAMPLES, [first, second]),
        (METRIC_SERIES, [series_row(MEAN)]),
        (METRIC_SAMPLES, [third]),
    ):
        lab.arrive(table, rows)
        lab.run()

    assert lab.gold() == lab.at_once()
    assert sorted(row["mean_ms"] for row in lab.rows(STOCK_FETCH_TOTAL)) == [501.5, 511.5, 521.5]
