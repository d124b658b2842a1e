"""The Dash application: an address in, a page out; it reads anew what has a new version."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, no_update
from flask import Response

from dashboards.asked import DashboardRequest
from dashboards.filters import Filters, filters_of
from dashboards.pages.all_pages import PAGES, page_of
from dashboards.parts import verdict
from dashboards.shell import controls, fresh, layout, nav, standing
from dashboards.warehouse import DashboardWarehouse
from reports.page import TEMPLATES

ASSETS = Path(__file__).parent / "assets"

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>{%title%}</title><style>/*style*/</style>{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


def make(warehouse: DashboardWarehouse, hosts: list[str]) -> Dash:
    """
    Make the application; it answers to the names in `hosts` alone, so no page elsewhere can read it.

    The first page is made once here: its tables are read before anybody waits for them.
    """
    app = Dash(
        "plumbline",
        assets_folder=str(ASSETS),
        serve_locally=True,
        title="Plumbline",
        update_title="",
        suppress_callback_exceptions=True,
        index_string=INDEX.replace("/*style*/", (TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )
    app.layout = layout()
    _with_pages(app, warehouse)
    _with_browser_side(app)
    _guarded(app, hosts)
    PAGES[0].make(DashboardRequest(warehouse, Filters()))
    return app


def _with_pages(app: Dash, warehouse: DashboardWarehouse) -> None:
    @app.callback(
        Output("content", "children"),
        Output("nav", "children"),
        Output("fresh", "children"),
        Input("url", "pathname"),
        Input("url", "search"),
        Input("version", "data"),
    )
    def shown(path: str, query: str, _version: str | None) -> tuple[Any, Any, Any]:
        page, asked = page_of(path), DashboardRequest(warehouse, filters_of(query))
        content = page.make(asked) if page else [verdict("There is no such page.", "unsure")]
        return content, nav(page, asked.filters), fresh(asked, datetime.now(UTC))

    @app.callback(
        Output("filters", "children"),
        Input("url", "pathname"),
        Input("url", "search"),
        State({"type": "filter", "name": ALL}, "value"),
        State({"type": "filter", "name": ALL}, "id"),
    )
    def chosen(path: str, query: str, values: list[Any], ids: list[dict[str, str]]) -> Any:  # noqa: ANN401
        page, asked = page_of(path), DashboardRequest(warehouse, filters_of(query))
        if page is None:
            return []
        there = {of["name"]: value for of, value in zip(ids, values, strict=True)}
        # One that has just been used keeps its focus: it is not made anew for saying the same.
        return no_update if there == standing(asked, page) else controls(asked, page)

    @app.callback(Output("version", "data"), Input("tick", "n_intervals"), State("version", "data"))
    def newest(_ticks: int | None, known: str | None) -> Any:  # noqa: ANN401 (a version, or nothing new)
        version = warehouse.version()
        return no_update if version == known else version


def _with_browser_side(app: Dash) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("plumbline", "filtered"),
        Output("url", "search"),
        Input({"type": "filter", "name": ALL}, "value"),
        State({"type": "filter", "name": ALL}, "id"),
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


def _guarded(app: Dash, hosts: list[str]) -> None:
    """Let a page ask nobody but this server, and answer to nobody who calls it by another name."""
    app.server.config["TRUSTED_HOSTS"] = hosts
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
