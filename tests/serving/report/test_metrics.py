"""What the report says and shows of metrics."""

from html import escape

from answers.data_quality import missing_metrics
from answers.fetches import leader_local_means
from answers.fetches.leader_local_means import sentences
from serving.report.terminal import table
from tests.serving.report import gold_rows, metric_rows
from tests.serving.report.test_page import HOSTILE, listed, text_of, written


def test_sections_are_left_out_without_metrics():
    text = text_of(gold_rows.slow_link())

    assert [f'id="{name}"' in text for name in ("leader-local", "missing-metrics")] == [False] * 2


def test_means_are_compared_with_the_request_log():
    far, alone, near = sentences(
        sorted(metric_rows.metrics().leader_local_mean_summary, key=lambda row: row["request"], reverse=True)
    )

    start = "leader_local 12.0 ms on average over 4,000 requests; "
    otherwise = "the request log differs: 9.00 ms, difference +3.00 ms"
    assert far == f"broker-1, Produce: {start}{otherwise}"
    assert near == f"broker-1, FetchFollower: {start}the request log agrees: 12.1 ms, difference -0.10 ms"
    assert alone == "broker-1, Heartbeat: leader_local 4.00 ms on average over 4,000 requests"


def test_all_figures_of_a_row_have_one_basis():
    """The mean of all windows is next to no figure of the log; the log's row has the mean of its windows."""
    covered = {"covered_n": 1_000, "covered_leader_local_mean_ms": 1.36, "log_n": 1_001}
    log = {"log_leader_local_mean_ms": 1.17, "difference_ms": 0.19, "is_within": True}
    rows = [metric_rows.mean("FetchConsumer", 3.29, **covered, **log), metric_rows.mean("Produce", 3.29)]

    assert sentences(rows)[0] == (
        "broker-1, FetchConsumer: leader_local 3.29 ms on average over 4,000 requests; the request log "
        "agrees with 1.36 ms over 1,000 in its windows: 1.17 ms, difference +0.19 ms"
    )
    compared = leader_local_means.COMPARISON.listed(rows)
    cells = [[column.cell(row) for column in compared.listing.columns] for row in compared.rows]
    assert cells == [["broker-1", "FetchConsumer", "1,000", "1.36", "1,001", "1.17", "0.19"]]
    whole = {column.name for column in leader_local_means.LISTING.columns}
    assert whole.isdisjoint({column.name for column in compared.listing.columns[2:]})


def test_missing_means_come_last_with_the_reason():
    listed = leader_local_means.LISTING.listed(metric_rows.metrics().leader_local_mean_summary)
    reason = next(column for column in listed.listing.columns if column.name == "reason")

    assert [row["request"] for row in listed.rows][-2:] == ["FetchConsumer", "Metadata"]
    assert [reason.cell(row) for row in listed.rows][::4] == ["", "fewer than 10 requests"]
    assert table(listed).row_count == 5


def test_dropped_metrics_are_a_doubt():
    (doubt,) = missing_metrics.doubts(metric_rows.metrics().missing_metrics)

    assert doubt == (
        "broker-2 (kafka_example): leader_local_mean cannot be had from its metrics, which lack "
        "request_time_ms.total.mean. Put this rule before all others."
    )


def test_rule_to_add_is_shown(tmp_path):
    shown = listed(missing_metrics.LISTING, metric_rows.metrics().missing_metrics)

    assert escape(metric_rows.RULE.strip()) in written(shown, tmp_path).read_text()


def test_text_of_users_is_shown_and_never_run(chromium, tmp_path):
    rows = [metric_rows.mean(HOSTILE, 4.0, node=HOSTILE)]
    opened = chromium.open(written(listed(leader_local_means.LISTING, rows), tmp_path))

    assert opened.complaints == []
    assert HOSTILE in opened.page.locator("#leader-local-table").inner_text()
