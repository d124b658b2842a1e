"""How much of silver's large tables the pages of the dashboard read, and how often."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from answers.fetches.slowest import slowest
from answers.gold.reader import LARGE, GoldReader, QueryBoundError, QueryBounds
from answers.incidents.found import incidents
from answers.matching import answered
from answers.questions import QUESTIONS
from schemas.silver.requests import REQUESTS
from serving.dashboard.filters import Filters
from serving.dashboard.request import DashboardRequest
from tests.answers import made_gold

QUESTION_OF = {question.name: question for question in QUESTIONS}


@pytest.fixture
def selection(made):
    """Return the selection of the newest span, with the incident of a culprit."""
    request = DashboardRequest(GoldReader.of_warehouse(made, QueryBounds()), Filters(cluster="east"))
    culprits = [row["incident"] for row in incidents(request.selection) if row["kind"] == "culprit"]
    return replace(request.selection, incident=culprits[0])


def test_an_open_tab_does_not_read_silver_again_at_each_commit(tmp_path, monkeypatch):
    """Each commit gives gold another newest window and silver more files."""
    root = made_gold.warehouse(tmp_path / "warehouse")
    gold = GoldReader.of_warehouse(root, QueryBounds())
    reads, fetched = [], GoldReader.fetched

    def counted(self, query, used):
        reads.extend(["silver"] * ("silver.requests" in query))
        return fetched(self, query, used)

    monkeypatch.setattr(GoldReader, "fetched", counted)
    selection = DashboardRequest(gold, Filters(cluster="east", follower=3, leader=1)).selection
    minute = selection.until.replace(second=0)

    for seconds in (0, 10, 20, 50):
        made_gold.write(root, REQUESTS, [])
        slowest(replace(selection, until=minute + timedelta(seconds=seconds)), (3, 1))
    first = len(reads)
    slowest(replace(selection, until=minute + timedelta(seconds=70)), (3, 1))

    assert selection.is_following
    assert (first, len(reads)) == (1, 2)


@pytest.mark.parametrize("name", ["produce", "slow-links", "throttles", "lookups", "incident"])
def test_no_page_reads_large_tables_of_silver_again_at_each_commit(selection, monkeypatch, name):
    queries, run = Counter(), GoldReader._run

    def counted(self, db, query, *more):
        queries.update([query] * any(table in query for table in LARGE))
        return run(self, db, query, *more)

    monkeypatch.setattr(GoldReader, "_run", counted)
    minute = selection.until.replace(second=0)

    for seconds in (1, 10, 20, 50):
        answer = answered(QUESTION_OF[name], replace(selection, until=minute + timedelta(seconds=seconds)))
        assert answer.sections

    assert selection.is_following
    assert set(queries.values()) == {1}


@pytest.mark.parametrize("name", ["produce", "incident"])
def test_a_leader_with_too_many_requests_leaves_out_no_more_than_their_list(
    made, selection, monkeypatch, name
):
    arrow = GoldReader.arrow

    def exceeded(self, query, used):
        if "silver.requests" in query:
            raise QueryBoundError(query)
        return arrow(self, query, used)

    names = {section.name for section in answered(QUESTION_OF[name], selection).sections}
    monkeypatch.setattr(GoldReader, "arrow", exceeded)
    unread = GoldReader.of_warehouse(made, QueryBounds())

    answer = answered(QUESTION_OF[name], replace(selection, gold=unread))

    assert names - {section.name for section in answer.sections} <= {"held-clients"}
    assert "many requests" in str([answer.headline.evidence, [section.lead for section in answer.sections]])


@pytest.mark.parametrize(("silver_s", "reads"), [(0.0, 2), (60.0, 1)])
def test_silver_is_read_again_after_a_while(made, monkeypatch, silver_s, reads):
    gold, texts, fetched = (
        GoldReader.of_warehouse(made, QueryBounds(silver_s=silver_s)),
        [],
        GoldReader.fetched,
    )
    monkeypatch.setattr(
        GoldReader, "fetched", lambda self, query, used: (texts.append(query), fetched(self, query, used))[1]
    )
    query = "SELECT count(*) AS n FROM silver.requests"

    assert gold.rows(query) == gold.rows(query)
    assert len(texts) == reads
