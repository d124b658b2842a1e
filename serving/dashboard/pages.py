"""The pages of the newest gold: each is made once for all browsers, begun while they load scripts."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Lock
from typing import Any

from dash.development.base_component import Component

from answers.answer import Question
from answers.gold.reader import GoldReader
from answers.matching import answered
from answers.questions import QUESTIONS
from serving.dashboard import render
from serving.dashboard.filters import filters_of
from serving.dashboard.request import DashboardRequest

MOST_KEPT = 16
BY_PATH = {question.path: question for question in QUESTIONS}


def page_of(path: str | None) -> Question | None:
    """Return the question of an address; None if there is none."""
    return BY_PATH.get("/" + (path or "").strip("/"))


def made(question: Question, request: DashboardRequest) -> list[Component]:
    """Return the page of a question."""
    return render.page(answered(question, request.selection), render.Links(question.name, request.address))


class PageCache:
    """PageCache by question and query of the address; `reach` is the longest span."""

    def __init__(self, gold: GoldReader, reach: timedelta) -> None:
        """Make no page yet."""
        self._gold, self._reach = gold, reach
        self._makers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="page")
        self._lock = Lock()
        self._made: dict[tuple[Any, ...], Future[list[Component]]] = {}

    def begin(self, question: Question, query: str | None) -> Future[list[Component]]:
        """Return the page of the newest tables, which may still be made."""
        filters = filters_of(query)
        key = (question, filters, *(table.version() for table in self._gold.relations.values()))
        with self._lock:
            page = self._made.get(key)
            if page is None or (page.done() and page.exception()):
                request = DashboardRequest(self._gold, filters, self._reach)
                page = self._made[key] = self._makers.submit(made, question, request)
                for oldest in list(self._made)[:-MOST_KEPT]:
                    del self._made[oldest]
        return page
