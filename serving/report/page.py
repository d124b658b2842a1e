"""The report as one HTML file without requests: templates, style, plotly and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.io import to_json
from plotly.offline import get_plotlyjs

from answers.answer import Answer, FigureRow
from answers.formats import count, instant, plain
from answers.listing import MOST_LISTED
from answers.questions import WholeAnswer
from conf.version import version

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The time and the version that made a page."""

    generated_at: datetime
    version: str

    @classmethod
    def now(cls) -> "Stamp":
        """Return the stamp of this instant and of the Plumbline that is running."""
        return cls(generated_at=datetime.now(UTC), version=version())


def page(whole: WholeAnswer, span: str, stamp: Stamp) -> str:
    """Return the report; user input is escaped, and the page names no host."""
    template = environment().get_template("report.html.j2")
    return template.render(whole=whole, span=span, figures=figures(whole.answers), stamp=stamp)


def figures(answers: Sequence[Answer]) -> dict[str, Markup]:
    """Return the figures of answers as JSON that is safe inside a script element."""
    blocks = [block for answer in answers for section in answer.sections for block in section.blocks]
    drawn = [one for block in blocks if isinstance(block, FigureRow) for one in block.drawn]
    # plotly's JSON engine writes <, > and / as \u escapes, so no text can end the script element.
    return {one.name: Markup(to_json(one.figure, engine="json")) for one in drawn}  # noqa: S704


def inline(name: str) -> Markup:
    """Return one of our files."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 (our own file)


def environment() -> Environment:
    """Return the environment of all templates; text is escaped."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=lambda value: plain(value) if type(value) is str else value,  # Markup is our own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(instant=instant, count=count, kind=lambda block: type(block).__name__)
    templates.globals.update(
        most_listed=MOST_LISTED,
        style=inline("style.css"),
        script=inline("page.js"),
        plotly=Markup(get_plotlyjs()),  # noqa: S704 (plotly's own script, no user's text)
    )
    return templates
