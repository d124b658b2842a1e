"""The Dash application, which returns the page of an address."""

import tempfile
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import flask
from dash import ALL, MATCH, ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update
from dash.development.base_component import Component
from flask import Response

from answers.answer import Answer, Download, Headline, Question
from answers.gold import contents
from answers.gold.reader import GoldReader, QueryBoundError
from answers.matching import answered
from answers.questions import QUESTIONS, WholeAnswer
from conf.http_hosts import answering
from serving.dashboard import render
from serving.dashboard.filters import Filters, filters_of
from serving.dashboard.request import REACH, DashboardRequest
from serving.dashboard.shell import controls, fresh, layout, matches, nav, options_like, values
from serving.dashboard.users import Users
from serving.report.page import TEMPLATES, Stamp
from serving.report.page import page as report_page

ASSETS = Path(__file__).parent / "assets"

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>{%title%}</title><style>/*style*/</style>{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


MOST_EARLY = 2
"""Verdicts that are computed before their callback asks, at once."""

TABLE_KINDS = ("csv", "parquet")
MIME = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown",
    "html": "text/html",
}
NO_PAGE = Headline(sentence="There is no such page.", mood="unsure")
BY_PATH = {question.path: question for question in QUESTIONS}


def page_of(path: str | None) -> Question | None:
    """Return the question of an address; None if there is none."""
    return BY_PATH.get("/" + (path or "").strip("/"))


def made(question: Question, request: DashboardRequest) -> list[Component]:
    """Return the page of a question."""
    return render.page(answered(question, request.selection), render.Links(question.name, request.address))


def _sections(question: Question | None, request: DashboardRequest) -> list[Component]:
    if question is None:
        return []
    links = render.Links(question.name, request.address)
    return render.sections(answered(question, request.selection), links)


def make(
    gold: GoldReader, names: frozenset[str], reach: timedelta = REACH, users: Users | None = None
) -> Dash:
    """
    Return the application. It answers to these names, and to `users` alone if they are given.

    The first page is made once here, so that the first user does not wait for imports and open tables.
    """
    app = Dash(
        "plumbline",
        assets_folder=str(ASSETS),
        serve_locally=True,
        title="Plumbline",
        update_title="",
        suppress_callback_exceptions=True,
        on_error=_stay,
        index_string=INDEX.replace("/*style*/", (TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )
    app.layout = lambda: layout(gold.version())
    _with_pages(app, gold, reach)
    _with_filters(app, gold, reach)
    _with_search(app, gold, reach)
    _with_exports(app, gold, reach)
    _with_browser_side(app)
    _guarded(app, names, users)
    _with_early_verdicts(app, gold, reach)
    made(QUESTIONS[0], DashboardRequest(gold, Filters(), reach))
    return app


def _stay(error: Exception) -> None:
    """Leave filters and search as they are when a query exceeds a bound; raise any other error."""
    if not isinstance(error, QueryBoundError):
        raise error


def _with_pages(app: Dash, gold: GoldReader, reach: timedelta) -> None:
    """Show the verdict of an address first; it is there before the figures are computed and drawn."""

    @app.callback(
        Output("answer", "children"),
        Output("nav", "children"),
        Output("sections", "children", allow_duplicate=True),
        Output("content", "aria-busy"),
        Input("url", "pathname"),
        Input("url", "search"),
        Input("version", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def verdict(path: str, query: str, _version: str | None) -> tuple[Any, Any, Any, str]:
        page, request = page_of(path), DashboardRequest(gold, filters_of(query), reach)
        # The sections of another page would contradict the verdict of this one.
        kept: Any = [] if "url.pathname" in ctx.triggered_prop_ids else no_update
        return _verdict(page, request), nav(page, request.filters), kept, "true"

    @app.callback(
        Output("sections", "children"),
        Output("fresh", "children"),
        Output("content", "aria-busy", allow_duplicate=True),
        Input("answer", "children"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def shown(_answer: Any, path: str, query: str) -> tuple[Any, Any, str]:  # noqa: ANN401 (only that it is there)
        page, request = page_of(path), DashboardRequest(gold, filters_of(query), reach)
        try:
            return _sections(page, request), fresh(request, datetime.now(UTC)), "false"
        except QueryBoundError as error:
            return [html.Section(html.P(str(error)))], [], "false"

    @app.callback(
        Output("version", "data"),
        Input("tick", "n_intervals"),
        State("version", "data"),
        prevent_initial_call=True,
    )
    def newest(_ticks: int | None, known: str | None) -> Any:  # noqa: ANN401 (a version, or nothing new)
        version = gold.version()
        return no_update if version == known else version


def _verdict(page: Question | None, request: DashboardRequest) -> Component:
    try:
        headline = answered(page, request.selection).headline if page else NO_PAGE
    except QueryBoundError as error:
        headline = Headline(sentence=str(error), mood="unsure")
    return render.verdict(headline)


def _with_filters(app: Dash, gold: GoldReader, reach: timedelta) -> None:
    @app.callback(
        Output("filters", "children"),
        Input("url", "pathname"),
        Input("url", "search"),
        State({"type": "filter", "name": ALL}, "value"),
        State({"type": "filter", "name": ALL}, "id"),
    )
    def chosen(path: str, query: str, shown: list[Any], ids: list[dict[str, str]]) -> Any:  # noqa: ANN401
        page, request = page_of(path), DashboardRequest(gold, filters_of(query), reach)
        if page is None:
            return []
        there = {of["name"]: value for of, value in zip(ids, shown, strict=True)}
        # A filter that has just been used keeps its focus, because unchanged filters are not replaced.
        return no_update if there == values(request, page) else controls(request, page)


def _with_search(app: Dash, gold: GoldReader, reach: timedelta) -> None:
    """Look for what is typed: in the search box, or in a filter with more values than it lists."""

    @app.callback(
        Output("find", "options"),
        Input("find", "search_value"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def found(text: str | None, query: str) -> Any:  # noqa: ANN401
        return matches(DashboardRequest(gold, filters_of(query), reach), text)

    @app.callback(
        Output({"type": "filter", "name": MATCH}, "options"),
        Input({"type": "filter", "name": MATCH}, "search_value"),
        State({"type": "filter", "name": MATCH}, "id"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def narrowed(text: str | None, dropdown: dict[str, str], query: str) -> Any:  # noqa: ANN401
        if dropdown["name"] not in contents.NAMED:
            return no_update
        return options_like(dropdown["name"], DashboardRequest(gold, filters_of(query), reach), text)


def _with_exports(app: Dash, gold: GoldReader, reach: timedelta) -> None:
    """Serve each table of the pages as a file, with the filters of the address."""

    @app.server.route(f"{render.EXPORT}/<question>/<table>.<kind>")  # type: ignore[untyped-decorator]
    def exported(question: str, table: str, kind: str) -> Response:
        page = next((one for one in QUESTIONS if one.name == question), None)
        asked = _of_address(gold, reach)
        try:
            content = file_of(answered(page, asked.selection), gold, table, kind) if page else None
        except QueryBoundError as error:
            return Response(str(error), status=503, mimetype="text/plain")
        if content is None:
            return Response("There is no such table.", status=404, mimetype="text/plain")
        disposition = {"Content-Disposition": f'attachment; filename="{table}.{kind}"'}
        return Response(content, mimetype=MIME[kind], headers=disposition)


def _of_address(gold: GoldReader, reach: timedelta) -> DashboardRequest:
    """Return the request with the filters in the address that Flask answers."""
    return DashboardRequest(gold, filters_of(flask.request.query_string.decode(errors="replace")), reach)


def file_of(answer: Answer, gold: GoldReader, name: str, kind: str) -> bytes | str | None:
    """
    Return a table of an answer as CSV or Parquet, its note, or its page; None if it offers no such file.

    The name is that of a table or note, since an arbitrary one could not be sent as the name of a file.
    """
    note = next((one for one in answer.blocks if isinstance(one, Download) and one.name == name), None)
    listed = next((one for one in answer.tables if one.listing.name == name), None)
    if kind == "html" and (note or listed):
        stamp = Stamp.now()
        return report_page(WholeAnswer(headline=answer.headline, answers=[answer]), "", stamp)
    if kind == "md" and note:
        return note.text
    if listed is None or not listed.query or kind not in TABLE_KINDS:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.{kind}"
        gold.export(listed.query, path)
        return path.read_bytes()


def _with_browser_side(app: Dash) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("plumbline", "filtered"),
        Output("url", "search"),
        Input({"type": "filter", "name": ALL}, "value"),
        State({"type": "filter", "name": ALL}, "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("plumbline", "opened"),
        Output("url", "pathname", allow_duplicate=True),
        Output("url", "search", allow_duplicate=True),
        Output("find", "value"),
        Input("find", "value"),
        prevent_initial_call=True,
    )
    for heat in ("heat-paired", "heat-passive"):
        app.clientside_callback(  # type: ignore[no-untyped-call]
            ClientsideFunction("plumbline", "looked_into"),
            Output("url", "pathname", allow_duplicate=True),
            Output("url", "search", allow_duplicate=True),
            Input(heat, "clickData"),
            prevent_initial_call=True,
        )


def _with_early_verdicts(app: Dash, gold: GoldReader, reach: timedelta) -> None:
    """
    Compute the verdict of a page while the browser loads scripts; the callback then finds its rows.

    A probe of the server does not ask for HTML, so nothing is read for it.
    """
    free = threading.BoundedSemaphore(MOST_EARLY)

    def begin(page: Question, request: DashboardRequest) -> None:
        with suppress(Exception):  # the callback has the same error, and says it
            _verdict(page, request)
        free.release()

    @app.server.before_request  # type: ignore[untyped-decorator]
    def begun() -> None:
        page, accepted = page_of(flask.request.path), flask.request.headers.get("Accept", "")
        is_opened = flask.request.method == "GET" and "text/html" in accepted
        if page and is_opened and free.acquire(blocking=False):
            threading.Thread(target=begin, args=(page, _of_address(gold, reach)), daemon=True).start()


def _guarded(app: Dash, names: frozenset[str], users: Users | None) -> None:
    """Restrict pages to requests to this server, and the server to its own names and users."""
    app.server.wsgi_app = answering(app.server.wsgi_app, names)
    if users:
        app.server.before_request(users.refusal)
    scripts = " ".join(f"'{one}'" if not one.startswith("'") else one for one in app.csp_hashes())
    policy = (
        f"default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )

    @app.server.after_request  # type: ignore[untyped-decorator]
    def with_headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
