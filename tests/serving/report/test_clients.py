"""What the report says and shows about clients, in a real browser."""

import json

import pytest

from answers.formats import NONE
from serving.report.answers import Answers
from serving.report.document import as_text, document
from serving.report.headline import headline_of
from serving.report.page import _sentences as sentences
from serving.report.page import page
from serving.report.tables import tables_of
from tests.serving.report import client_rows, gold_rows
from tests.serving.report.test_page import HOSTILE, STAMP, written


def test_sections_are_there_only_where_there_is_something_to_tell(chromium, tmp_path):
    wanted = ["skew", "redirects", "lookups", "perf-tests"]
    opened = chromium.open(written(client_rows.clients(), tmp_path))
    opened.page.screenshot(path=tmp_path / "clients.png", full_page=True)

    assert opened.complaints == []
    assert [opened.page.locator(f"#{name}").count() for name in wanted] == [1] * 4
    assert opened.page.locator("#disconnects").count() == 0
    assert [f'id="{name}"' in page(gold_rows.slow_link(), STAMP) for name in wanted] == [False] * 4


def test_slow_leaders_shares_stand_out(chromium, tmp_path):
    opened = chromium.open(written(client_rows.clients(), tmp_path))

    others, slow = opened.page.evaluate("document.getElementById('shares').data.map(d => [d.x, d.y, d.name])")
    assert slow == [["sticky", "adaptive"], [0.7, 0.38], "the slowest leader"]
    assert others[1] == [0.15, 0.15, 0.31, 0.31]


def test_every_redirect_is_a_point_of_its_version(chromium, tmp_path):
    opened = chromium.open(written(client_rows.clients(), tmp_path))

    drawn = opened.page.evaluate("document.getElementById('redirect-times').data.map(d => [d.x, d.y])")
    assert [len(x) for x, _ in drawn] == [16, 16]
    assert sorted(set(drawn[0][1])) == ["3.6.0 PRODUCE", "3.9.1 PRODUCE"]


def test_sentences_tell_what_the_figures_say():
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
def test_share_that_is_not_as_the_proposal_measured_is_said_plainly(partitioner, ratio, says):
    row = client_rows.clients().partition_skew_summary[0]
    told = [row | {"partitioner": partitioner, "slowest_ratio": ratio}]

    assert sentences(client_rows.clients(partition_skew_summary=told))["skew"][0].endswith(says)


def test_a_topic_of_one_partition_cannot_be_uneven_and_is_left_out():
    rows = client_rows.clients().partition_skew_summary

    alone = client_rows.clients(partition_skew_summary=[row | {"partitions": 1} for row in rows])

    assert sentences(client_rows.clients())["skew"]
    assert sentences(alone)["skew"] == []


def with_disconnects(**changes):
    rows = client_rows.clients()
    return client_rows.clients(
        **{
            "leader_redirect": [*rows.leader_redirect, client_rows.disconnect("3.9.1")],
            "leader_redirect_summary": [*rows.leader_redirect_summary, client_rows.disconnects("3.9.1")],
            **changes,
        }
    )


def test_disconnects_have_a_table_of_their_own_and_are_no_redirects(chromium, tmp_path):
    answers = with_disconnects()
    opened = chromium.open(written(answers, tmp_path))

    cells = opened.page.locator("#disconnect-table tbody td").all_inner_texts()
    assert cells == ["3.9.1", "FETCH", "2", "9,100", "12,300"]
    assert opened.page.locator("#redirect-table tbody tr").count() == 2
    drawn = opened.page.evaluate("document.getElementById('redirect-times').data.map(d => d.x.length)")
    assert drawn == [16, 16]
    assert sentences(answers)["redirects"] == sentences(client_rows.clients())["redirects"]


def test_disconnects_alone_show_no_redirects(chromium, tmp_path):
    alone = [client_rows.disconnects("3.9.1")]
    opened = chromium.open(written(with_disconnects(leader_redirect_summary=alone), tmp_path))

    assert opened.complaints == []
    assert [opened.page.locator(f"#{name}").count() for name in ("redirects", "disconnects")] == [0, 1]


def test_few_redirects_are_not_judged():
    summary = [client_rows.redirects("3.6.0", 50.0, 0.0) | {"n": 4}, client_rows.redirects("3.9.1", 6.0, 1.0)]

    said = sentences(client_rows.clients(leader_redirect_summary=summary))["redirects"]

    assert said[0].endswith("not enough data")
    assert not said[1].endswith("not enough data")


def test_names_of_users_do_no_harm(chromium, tmp_path):
    rows = client_rows.clients()
    named = {
        "partition_skew": [row | {"arm": HOSTILE} for row in rows.partition_skew],
        "partition_skew_summary": [
            row | {"arm": HOSTILE, "topic": HOSTILE} for row in rows.partition_skew_summary
        ],
        "leader_redirect": [row | {"software_version": HOSTILE} for row in rows.leader_redirect],
        "leader_redirect_summary": [
            row | {"software_version": HOSTILE} for row in rows.leader_redirect_summary
        ],
        "metadata_lookup": [row | {"client_id": HOSTILE} for row in rows.metadata_lookup],
        "metadata_lookup_windows": [row | {"client_id": HOSTILE} for row in rows.metadata_lookup_windows],
        "perf_summaries": [row | {"run": HOSTILE} for row in rows.perf_summaries],
    }
    path = written(client_rows.clients(**named), tmp_path)

    opened = chromium.open(path)

    assert opened.page.title() != "owned"
    assert (opened.requests, opened.complaints) == ([path.as_uri()], [])
    assert opened.page.evaluate("document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("answers", [client_rows.clients(), Answers()], ids=["clients", "nothing"])
def test_document_has_every_key(answers):
    tables = json.loads(as_text(document(answers)))["tables"]

    for name in ("partition_skew", "partition_skew_summary", "leader_redirect", "leader_redirect_summary"):
        assert len(tables[name]) == len(getattr(answers, name))
    assert {len(tables[name]) for name in ("metadata_lookup", "perf_summaries")} == {
        len(answers.metadata_lookup)
    }


def two_rates():
    rows = client_rows.clients().partition_skew_summary
    return [row | {"run": f"skew-1795404710432-0-{rate}"} for rate in (16384, 2048) for row in rows]


def cells(answers, name, *heads):
    """Return columns of a table by their heads."""
    listed = tables_of(answers, headline_of(answers))[name]
    columns = {column.head: column for column in listed.listing.columns}
    return [tuple(columns[head].cell(row) for head in heads) for row in listed.rows]


def test_both_rates_of_an_arm_are_told_apart_and_stand_together(chromium, tmp_path):
    answers = client_rows.clients(partition_skew_summary=two_rates())
    wanted = [(arm, f"…{rate}") for arm in ("adaptive", "sticky") for rate in (2048, 16384)]

    opened = chromium.open(written(answers, tmp_path))
    shown = opened.page.locator("#skew-table tbody tr").all()

    assert cells(answers, "skew-table", "client", "run") == wanted
    assert [tuple(row.locator("td").all_inner_texts()[:2]) for row in shown] == wanted
    assert [line.split(" to orders")[0] for line in sentences(answers)["skew"]] == [
        f"{arm} ({run})" for arm, run in wanted
    ]


def test_lookups_of_one_client_are_told_apart_by_their_runs(chromium, tmp_path):
    rows = [client_rows.lookups("3.9.1", 1.0) | {"run": f"metadata-100-{nth}"} for nth in (10, 9)]
    answers = client_rows.clients(metadata_lookup=rows)

    opened = chromium.open(written(answers, tmp_path))

    assert cells(answers, "lookup-table", "run") == [("…9",), ("…10",)]
    assert opened.page.locator("#lookup-table tbody td:nth-child(2)").all_inner_texts() == ["…9", "…10"]
    assert [line.split(":")[0] for line in sentences(answers)["lookups"]] == [
        f"m-3.9.1 (3.9.1, {run})" for run in ("…9", "…10")
    ]


def test_no_leader_is_named_where_none_is_slow(chromium, tmp_path):
    rows = [row | {"slow_by": None} for row in client_rows.clients().partition_skew_summary]
    answers = client_rows.clients(partition_skew_summary=rows)

    opened = chromium.open(written(answers, tmp_path))

    assert cells(answers, "skew-table", "slow leader", "its share / others'") == [(NONE, NONE)] * 2
    shown = [row.locator("td").all_inner_texts() for row in opened.page.locator("#skew-table tbody tr").all()]
    assert [row[6:8] for row in shown] == [[NONE, NONE]] * 2


def test_long_tables_say_that_they_were_cut(chromium, tmp_path):
    rows = client_rows.clients()
    many = {
        name: [getattr(rows, name)[0]] * 201
        for name in ("partition_skew_summary", "metadata_lookup", "perf_summaries")
    }

    opened = chromium.open(written(client_rows.clients(**many), tmp_path))

    for section in ("skew", "lookups", "perf-tests"):
        told = opened.page.locator(f"#{section} > p.dim").all_inner_texts()
        assert told == ["The first 200 of 201 are listed; the JSON has them all."]
    whole = chromium.open(written(rows, tmp_path))
    assert whole.page.locator("#skew p.dim, #lookups p.dim, #perf-tests p.dim").count() == 0


def test_many_sentences_are_folded(chromium, tmp_path):
    one = client_rows.clients().partition_skew_summary[0]
    opened = chromium.open(written(client_rows.clients(partition_skew_summary=[one] * 20), tmp_path))

    lists = opened.page.locator("#skew ul.small")
    assert [lists.nth(n).locator("li").count() for n in range(2)] == [14, 6]
    assert opened.page.locator("#skew details summary").first.inner_text() == "6 more"
    assert (lists.nth(0).is_visible(), lists.nth(1).is_visible()) == (True, False)
