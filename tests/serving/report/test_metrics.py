"""What the report says and shows of metrics."""

import json

from answers.fetches import leader_local_means
from answers.fetches.leader_local_means import sentences
from serving.report.document import as_text, document, doubts
from serving.report.page import page
from serving.report.terminal import table
from tests.serving.report import gold_rows, metric_rows
from tests.serving.report.test_page import HOSTILE, STAMP, written


def test_section_is_there_only_where_there_is_something_to_tell(chromium, tmp_path):
    opened = chromium.open(written(metric_rows.metrics(), tmp_path))
    opened.page.screenshot(path=tmp_path / "metrics.png", full_page=True)

    assert opened.complaints == []
    assert opened.page.locator("#leader-local-table tbody tr").count() == 5
    assert opened.page.locator("#missing-metrics tbody tr").count() == 1
    assert "no percentile" in opened.page.locator("#leader-local .lead").inner_text()
    bare = page(gold_rows.slow_link(), STAMP)
    assert [f'id="{name}"' in bare for name in ("leader-local", "missing-metrics")] == [False] * 2


def test_means_are_told_with_what_the_log_says():
    far, alone, near = sentences(
        sorted(metric_rows.metrics().leader_local_mean_summary, key=lambda row: row["request"], reverse=True)
    )

    start = "leader_local 12.0 ms on average over 4,000 requests; "
    otherwise = "the request log differs: 9.00 ms, difference +3.00 ms"
    assert far == f"broker-1, Produce: {start}{otherwise}"
    assert near == f"broker-1, FetchFollower: {start}the request log agrees: 12.1 ms, difference -0.10 ms"
    assert alone == "broker-1, Heartbeat: leader_local 4.00 ms on average over 4,000 requests"


def test_what_is_refused_says_why_and_stands_last():
    listed = leader_local_means.LISTING.listed(metric_rows.metrics().leader_local_mean_summary)
    reason = next(column for column in listed.listing.columns if column.name == "reason")

    assert [row["request"] for row in listed.rows][-2:] == ["FetchConsumer", "Metadata"]
    assert [reason.cell(row) for row in listed.rows][::4] == ["", "fewer than 10 requests"]
    assert table(listed).row_count == 5


def test_rules_that_drop_what_is_needed_are_a_doubt():
    (doubt,) = doubts(metric_rows.metrics())

    assert doubt == (
        "broker-2 (kafka_example): leader_local_mean cannot be had from its metrics, which lack "
        "request_time_ms.total.mean. Put this rule before all others."
    )


def test_json_holds_the_tables():
    told = json.loads(as_text(document(metric_rows.metrics())))["tables"]

    assert [row["reason"] for row in told["leader_local_mean_summary"]][:1] == ["too_few"]
    assert told["leader_local_mean"][0]["window_start"] == "2026-11-21T11:03:00Z"
    assert told["missing_metrics"][0]["rule"] == metric_rows.RULE


def test_names_of_strangers_are_shown_and_never_run(chromium, tmp_path):
    rows = [metric_rows.mean(HOSTILE, 4.0, node=HOSTILE)]
    opened = chromium.open(written(metric_rows.metrics(leader_local_mean_summary=rows), tmp_path))

    assert opened.complaints == []
    assert HOSTILE in opened.page.locator("#leader-local-table").inner_text()
