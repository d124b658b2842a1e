"""A question and its answer: a verdict and sections, which page, dashboard, terminal and JSON lay out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from answers.gold.selection import GoldSelection
from answers.listing import Listed
from answers.next_steps.steps import NextStep
from schemas.fields import Table
from schemas.rows import Row

if TYPE_CHECKING:
    import plotly.graph_objects as go

FILLED_BY_GOLD = "plumbline ingest and plumbline build-gold --follow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The sentence at the top of an answer, with its evidence."""

    sentence: str
    mood: str  # alarm, unsure or calm
    evidence: Sequence[str] = ()
    steps: Sequence[NextStep] = ()

    def as_row(self) -> Row:
        """Return the verdict of a JSON document."""
        return {
            "sentence": self.sentence,
            "mood": self.mood,
            "evidence": list(self.evidence),
            "next_steps": [step._asdict() for step in self.steps],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFigure:
    """A figure; `words` describe it to people who cannot see it."""

    name: str
    figure: "go.Figure"
    words: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """Figures next to each other; `is_dense` if they may be small."""

    drawn: Sequence[DrawnFigure]
    is_dense: bool = False


@dataclass(frozen=True, slots=True)
class Sentences:
    """A list of sentences."""

    lines: Sequence[str]
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing, and the command that fills it; empty if the data was read, and there is nothing."""

    what: str
    fill: str

    @property
    def words(self) -> str:
        """What is missing, and whether data is."""
        return f"{'no data' if self.fill else 'nothing to show'}: {self.what}"


@dataclass(frozen=True, slots=True)
class Details:
    """A text that a click opens."""

    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Download:
    """A text that can be saved as a file; `name` is that of the file, without the suffix."""

    name: str
    text: str


Block = FigureRow | Sentences | Missing | Details | Download | Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part of an answer; `name` is its id in documents."""

    name: str
    title: str
    lead: str = ""
    blocks: Sequence[Block] = ()

    @property
    def missing(self) -> list[Missing]:
        """What is missing."""
        return [block for block in self.blocks if isinstance(block, Missing)]

    @property
    def is_empty(self) -> bool:
        """Whether nothing but what is missing is in it."""
        return len(self.missing) == len(self.blocks)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """
    The answer to a question.

    `make_sections` is called at the first use of `sections`: a page shows the headline before them.
    `news` are sentences for the top of a report about everything; empty if nothing was found.
    """

    headline: Headline
    make_sections: Callable[[], Sequence[Section]]
    news: Sequence[str] = ()

    @cached_property
    def sections(self) -> Sequence[Section]:
        """The parts below the headline."""
        return self.make_sections()

    @property
    def is_empty(self) -> bool:
        """Whether there is no data for it."""
        return all(section.is_empty for section in self.sections)

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the sections."""
        return [block for section in self.sections for block in section.blocks]

    @property
    def tables(self) -> list[Listed]:
        """All tables."""
        return [block for block in self.blocks if isinstance(block, Listed)]


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Rows of an answer under a key of the JSON, with the table that declares their columns."""

    table: Table
    rows: Callable[[GoldSelection], Sequence[Row]]
    is_of_gold: bool = False  # the rows of a gold table: many, for a long span of a large cluster


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """
    A question that gold answers, declared once.

    `name` is that of `plumbline ask` and of its page. `word` is its name in the navigation; empty if it is
    reached from another page. `scenario` is the lab scenario that asks it.
    """

    name: str
    word: str
    title: str
    filters: tuple[str, ...]
    answer: Callable[[GoldSelection], Answer]
    rows: Mapping[str, AnswerRows] = field(default_factory=dict)
    scenario: str | None = None
    is_in_report: bool = True
    is_first: bool = False

    @property
    def path(self) -> str:
        """The path of its page; the first question is the first page."""
        return "/" if self.is_first else f"/{self.name}"

    def is_made_from(self, source: str) -> bool:
        """Return whether its rows are made from a gold table."""
        return any(rows.table.name.startswith(source) for rows in self.rows.values())


def empty_section(name: str, title: str, what: str, fill: str = FILLED_BY_GOLD) -> Section:
    """Return a section without data: what is missing, and the command that fills it."""
    return Section(name=name, title=title, blocks=[Missing(what, fill)])


def section_of(listed: Listed, name: str, *before: Block, after: Sequence[Block] = ()) -> Section:
    """Return the section of a table, with its title and lead."""
    listing = listed.listing
    return Section(name=name, title=listing.title, lead=listing.lead, blocks=(*before, listed, *after))
