"""What the report says and shows about clients, in a real browser."""

import pytest

from answers.answer import Answer, DrawnFigure, FigureRow, Section
from answers.formats import NONE
from answers.leader_redirects import redirects
from answers.leader_redirects.figures import redirect_times
from answers.metadata_lookups import lookups
from answers.metadata_lookups.figures import lookups_over_time
from answers.partition_skew import sentences as skew
from answers.partition_skew.figures import shares
from answers.runs.summaries import SUMMARY
from tests.serving.report import client_rows, gold_rows
from tests.serving.report.test_page import CALM, HOSTILE, listed, text_of, written


def sentences(rows):
    return {
        "skew": skew.sentences(rows.partition_skew_summary),
        "redirects": redirects.sentences(rows.leader_redirect_summary, rows.leader_redirect),
        "lookups": lookups.sentences(rows.metadata_lookup),
    }


def drawn(name, figure):
    """Return an answer with one figure."""
    blocks = [FigureRow([DrawnFigure(name=name, figure=figure, words="a figure")])]
    section = Section(name="section", title="A figure", blocks=blocks)
    return Answer(headline=CALM, make_sections=lambda: [section])


def test_sections_are_left_out_without_clients():
    text = text_of(gold_rows.slow_link())

    names = ("skew", "redirects", "lookups", "perf-tests")
    assert [f'id="{name}"' in text for name in names] == [False] * 4


def test_slow_leaders_shares_are_marked(chromium, tmp_path):
    rows = client_rows.clients()
    figure = shares(rows.partition_skew, rows.partition_skew_summary)
    opened = chromium.open(written(drawn("shares", figure), tmp_path))

    others, slow = opened.page.evaluate("document.getElementById('shares').data.map(d => [d.x, d.y, d.name])")
    assert slow == [["sticky", "adaptive"], [0.7, 0.38], "the slowest leader"]
    assert others[1] == [0.15, 0.15, 0.31, 0.31]


def test_every_redirect_is_a_point_of_its_version(chromium, tmp_path):
    figure = redirect_times(client_rows.clients().leader_redirect)
    opened = chromium.open(written(drawn("redirect-times", figure), tmp_path))

    points = opened.page.evaluate("document.getElementById('redirect-times').data.map(d => [d.x, d.y])")
    assert [len(x) for x, _ in points] == [16, 16]
    assert sorted(set(points[0][1])) == ["3.6.0 PRODUCE", "3.9.1 PRODUCE"]


def test_sentences_have_the_figures():
    said = sentences(client_rows.clients())

    assert "broker 1 is slow for it (batches 3.4x the others') and gets 4.70x" in said["skew"][1]
    assert said["skew"][1].endswith("this indicates sticky")
    assert "p50 104 ms" in said["redirects"][0]
    assert "0.0 % hinted" in said["redirects"][0]
    assert said["redirects"][2] == (
        "orders (PRODUCE): 8.50 ms (n = 8; 5.00 to 12.0) with the new leader in the answer, "
        "104 ms (n = 8; 100 to 107) without (3.6.0): as KIP-951 claims"
    )
    assert said["lookups"][0].endswith("to the power of 1.98; 3 topics were evicted")


@pytest.mark.parametrize(
    ("partitioner", "ratio", "says"),
    [
        ("uniform", 1.33, "even share of it (1.02 to 1.04), which does not show here"),
        ("uniform", 1.05, "this indicates uniform"),
        ("adaptive", 1.24, "less than an even share of it (0.59 to 0.82), which does not show here"),
        ("adaptive", 0.9, "this indicates adaptive"),
    ],
)
def test_share_that_differs_from_the_proposals_measurement_is_named(partitioner, ratio, says):
    row = client_rows.clients().partition_skew_summary[0]
    told = [row | {"partitioner": partitioner, "slowest_ratio": ratio}]

    assert sentences(client_rows.clients(partition_skew_summary=told))["skew"][0].endswith(says)


def test_a_topic_of_one_partition_cannot_be_uneven_and_is_left_out():
    rows = client_rows.clients().partition_skew_summary

    alone = client_rows.clients(partition_skew_summary=[row | {"partitions": 1} for row in rows])

    assert sentences(client_rows.clients())["skew"]
    assert sentences(alone)["skew"] == []


def test_disconnects_have_their_own_table_and_are_no_redirects(chromium, tmp_path):
    rows = client_rows.clients()
    events = [*rows.leader_redirect, client_rows.disconnect("3.9.1")]
    versions = [*rows.leader_redirect_summary, client_rows.disconnects("3.9.1")]
    opened = chromium.open(written(listed(redirects.DISCONNECTS, versions), tmp_path))

    cells = opened.page.locator("#disconnect-table tbody td").all_inner_texts()
    assert cells == ["3.9.1", "FETCH", "2", "9,100", "12,300"]
    assert len(redirects.REDIRECTS.listed(versions).rows) == 2
    assert [len(trace.x) for trace in redirect_times(events).data] == [16, 16]
    assert redirects.sentences(versions, events) == sentences(rows)["redirects"]


def test_few_redirects_are_not_judged():
    summary = [client_rows.redirects("3.6.0", 50.0, 0.0) | {"n": 4}, client_rows.redirects("3.9.1", 6.0, 1.0)]

    said = sentences(client_rows.clients(leader_redirect_summary=summary))["redirects"]

    assert said[0].endswith("not enough data")
    assert not said[1].endswith("not enough data")


def test_names_of_users_are_shown_and_never_run(chromium, tmp_path):
    rows = client_rows.clients()
    named = [
        row | {"arm": HOSTILE, "topic": HOSTILE, "software_version": HOSTILE}
        for row in rows.partition_skew_summary
    ]
    hostile = [
        drawn("shares", shares([row | {"arm": HOSTILE} for row in rows.partition_skew], named)),
        drawn("times", redirect_times([row | {"software_version": HOSTILE} for row in rows.leader_redirect])),
        drawn(
            "over", lookups_over_time([row | {"client_id": HOSTILE} for row in rows.metadata_lookup_windows])
        ),
        listed(skew.PRODUCERS, named, lines=skew.sentences(named)),
        listed(SUMMARY, [row | {"run": HOSTILE} for row in rows.perf_summaries]),
    ]
    for nth, answer in enumerate(hostile):
        path = written(answer, tmp_path, f"page-{nth}")
        opened = chromium.open(path)

        assert opened.page.title() != "owned"
        assert (opened.requests, opened.complaints) == ([path.as_uri()], [])
        assert opened.page.locator("img").count() == 0


def two_rates():
    rows = client_rows.clients().partition_skew_summary
    return [row | {"run": f"skew-1795404710432-0-{rate}"} for rate in (16384, 2048) for row in rows]


def cells(listing, rows, *heads):
    """Return columns of a table by their heads."""
    columns = {column.head: column for column in listing.columns}
    return [tuple(columns[head].cell(row) for head in heads) for row in listing.listed(rows).rows]


def test_both_rates_of_an_arm_are_next_to_each_other_with_their_names(chromium, tmp_path):
    rows = two_rates()
    expected = [(arm, f"…{rate}") for arm in ("adaptive", "sticky") for rate in (2048, 16384)]

    opened = chromium.open(written(listed(skew.PRODUCERS, rows), tmp_path))
    shown = opened.page.locator("#skew-table tbody tr").all()

    assert cells(skew.PRODUCERS, rows, "client", "run") == expected
    assert [tuple(row.locator("td").all_inner_texts()[:2]) for row in shown] == expected
    assert [line.split(" to orders")[0] for line in skew.sentences(rows)] == [
        f"{arm} ({run})" for arm, run in expected
    ]


def test_lookups_of_one_client_are_distinguished_by_their_runs(chromium, tmp_path):
    rows = [client_rows.lookups("3.9.1", 1.0) | {"run": f"metadata-100-{nth}"} for nth in (10, 9)]

    opened = chromium.open(written(listed(lookups.LISTING, rows), tmp_path))

    assert cells(lookups.LISTING, rows, "run") == [("…9",), ("…10",)]
    assert opened.page.locator("#lookup-table tbody td:nth-child(2)").all_inner_texts() == ["…9", "…10"]
    assert [line.split(":")[0] for line in lookups.sentences(rows)] == [
        f"m-3.9.1 (3.9.1, {run})" for run in ("…9", "…10")
    ]


def test_no_leader_is_named_if_none_is_slow(chromium, tmp_path):
    rows = [row | {"slow_by": None} for row in client_rows.clients().partition_skew_summary]

    opened = chromium.open(written(listed(skew.PRODUCERS, rows), tmp_path))

    assert cells(skew.PRODUCERS, rows, "slow leader", "its share / others'") == [(NONE, NONE)] * 2
    shown = [row.locator("td").all_inner_texts() for row in opened.page.locator("#skew-table tbody tr").all()]
    assert [row[6:8] for row in shown] == [[NONE, NONE]] * 2
