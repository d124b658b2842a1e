"""The targets of ingest and gold, one row per question: the measured figure, the target, the yardstick."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import aged, costs, hour, lateness, scrapes
from benchmarks.pipeline.arms.quiet_lines import LINES, MOVES
from benchmarks.pipeline.intervals import Estimate, Rounds, mean, ratio, rounds_by_arm
from transforms.gold.builds import BUILDS

Document = Mapping[str, Any]
"""The state file of a part: its measured figures."""

LOW_RATE, HIGH_RATE = 2_000.0, 10_000.0
NOT_MEASURED = "not measured yet"
MET, MISSED, NO_TARGET, NOT_JUDGED = "met", "**missed**", "no target", "not judged: n = 1"
GROWTH = 0.001
"""The most growth of a steady backlog, in lines per appended line; it adds up to 86 s per day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One question, the part and function that give its figure, and its limit."""

    question: str
    part: str
    figure: Callable[[Document], Estimate | None]
    limit: float | None = None
    is_least: bool = False  # the limit is a minimum
    unit: str = ""
    digits: int = 2
    yardstick: str = ""
    measured_yardstick: Callable[[Document], str] | None = None

    def row(self, document: Document | None) -> tuple[str, str, str, str, str]:
        """Return the cells: question, figure, target, met or missed, yardstick."""
        figure = self.figure(document) if document else None
        return (
            self.question,
            NOT_MEASURED if figure is None else f"{shown(figure, self.digits, self.unit)}; n = {figure.n}",
            self._limit(),
            verdict(figure, self.limit, is_least=self.is_least),
            self._yardstick(document),
        )

    def _limit(self) -> str:
        if self.limit is None:
            return ""
        return f"{'≥' if self.is_least else '≤'} {self.limit:,.{self.digits}f}{self.unit}"

    def _yardstick(self, document: Document | None) -> str:
        measured = self.measured_yardstick(document) if document and self.measured_yardstick else ""
        return "; ".join(text for text in (measured, self.yardstick) if text)


def shown(figure: Estimate, digits: int, unit: str = "") -> str:
    """
    Return a figure with its interval, if it has one.

    >>> shown(Estimate(1.5, 1.25, 2.0), 2, " s"), shown(Estimate(1_200.0), 0)
    ('1.50 s (1.25 to 2.00)', '1,200')
    """
    if np.isnan(figure.value):
        return "none"
    text = f"{figure.value:,.{digits}f}{unit}"
    if not np.isfinite([figure.low, figure.high]).all():
        return text
    return f"{text} ({figure.low:,.{digits}f} to {figure.high:,.{digits}f})"


def verdict(figure: Estimate | None, limit: float | None, *, is_least: bool = False) -> str:
    """
    Return whether a figure meets its limit, and whether its brackets contain the limit.

    A single measurement can miss a target, but not meet it.

    >>> verdict(Estimate(0.9, 0.8, 1.1, n=5), 1.0), verdict(Estimate(0.9), 1.0), verdict(Estimate(1.1), 1.0)
    ('met; the brackets contain the target', 'not judged: n = 1', '**missed**')
    """
    if figure is None:
        return ""
    if limit is None:
        return NO_TARGET
    is_met = figure.value >= limit if is_least else figure.value <= limit
    if is_met and figure.n == 1:
        return NOT_JUDGED
    is_open = figure.low < limit < figure.high
    return (MET if is_met else MISSED) + ("; the brackets contain the target" if is_open else "")


def _cpu(document: Document) -> dict[str, Rounds]:
    return rounds_by_arm(document["costs"], "cpu_s_per_million")


def _cost(arm: str) -> Callable[[Document], Estimate]:
    return lambda document: mean(_cpu(document)[arm])


def _cost_ratio(ours: str, theirs: str) -> Callable[[Document], Estimate]:
    return lambda document: ratio(_cpu(document)[ours], _cpu(document)[theirs])


def _costs_of(*arms: str) -> Callable[[Document], str]:
    return lambda document: ", ".join(
        f"{arm.partition(':')[0]} {mean(_cpu(document)[arm]).value:.1f}" for arm in arms
    )


def _samples(arm: str) -> Callable[[Document], Estimate]:
    return lambda document: mean(rounds_by_arm(document["costs"], "samples_per_cpu_s")[arm])


def _samples_of(arm: str) -> Callable[[Document], str]:
    return lambda document: f"{arm} {_samples(arm)(document).value:,.0f}"


def _of_rate(
    per_s: float, find: Callable[[Document], Estimate | None]
) -> Callable[[Document], Estimate | None]:
    """Return a function that finds a figure in the run of a rate; None if that rate was not measured."""

    def found(document: Document) -> Estimate | None:
        run = next((run for run in document["runs"] if run["per_s"] == per_s), None)
        return None if run is None else find(run)

    return found


def late(layer: str, quantile: str) -> Callable[[Document], Estimate | None]:
    """Return a function that finds a quantile of a layer, with the interval (p99: the range) of blocks."""

    def found(run: Document) -> Estimate | None:
        if layer not in run:
            return None
        value, low, high = run[layer][f"{quantile}_s"]
        blocks = run[layer]["blocks"]
        return Estimate(value, low, high, blocks) if blocks > 1 else Estimate(value)

    return found


def _growth(run: Document) -> Estimate:
    silver = run[lateness.SILVER]
    low, high, n = silver.get("growth_interval", (np.nan, np.nan, 1))
    return Estimate(silver["backlog_growth"], low, high, n)


def used(name: str, *names: str) -> Callable[[Document], Estimate]:
    """
    Return a function that adds up a figure of programs in a run.

    Cores have the interval of blocks of a minute; n of a peak is the number of samples of memory.
    """

    def found(run: Document) -> Estimate:
        of_programs = [run["usage"][program] for program in names]
        total = sum(usage[name] for usage in of_programs)
        if name != "cores":
            return Estimate(total, n=of_programs[0].get("samples", 1))
        blocks = zip(*(usage.get("cores_of_blocks", [usage["cores"]]) for usage in of_programs), strict=True)
        return mean(dict(enumerate(map(sum, blocks))))._replace(value=total)

    return found


def _quiet(
    find: Callable[[Document], Estimate | None], *, with_gold: bool
) -> Callable[[Document], Estimate | None]:
    """Return a function that finds a figure in a run of the quiet cluster."""
    return lambda document: find(next(run for run in document["runs"] if run["with_gold"] is with_gold))


BOTH = (programs.INGEST, programs.GOLD)

EVERY = frozenset(build.name for build in BUILDS)


def _batch(
    name: str, stage: str, builds: frozenset[str] | None = None
) -> Callable[[Document], Estimate | None]:
    """
    Return a function that finds the mean cost of the batches of a stage that touched just these builds.

    Default: the most frequent set of builds with fetches, so that the figure is of batches of one kind.
    """

    def found(run: Document) -> Estimate | None:
        batches = [(frozenset(b["builds"]), b[name]) for b in run["batches"] if b["stage"] == stage]
        sets = Counter(
            touched for touched, _ in batches if builds == touched or (not builds and "fetches" in touched)
        )
        if not sets:
            return None
        ((frequent, _),) = sets.most_common(1)
        return mean(dict(enumerate(cost for touched, cost in batches if touched == frequent)))

    return _quiet(found, with_gold=True)


def _hour(way: str) -> Callable[[Document], Estimate | None]:
    def found(document: Document) -> Estimate | None:
        build = next(build for build in document["builds"] if build["way"] == way)
        return None if build["exit_code"] else Estimate(build["all_gb"], n=build["samples"])

    return found


def _aged(document: Document) -> Estimate:
    walls = aged_walls(document["measured"])
    return ratio(walls[max(walls)], walls[min(walls)])


def aged_walls(measured: list[dict[str, Any]]) -> dict[int, Rounds]:
    """Return wall times in ms by age and round, without round 0, which warms up."""
    walls: dict[int, Rounds] = {}
    for one in measured:
        if one["round"]:
            walls.setdefault(one["age"], {})[one["round"]] = one["wall_ms"]
    return walls


FRESH, FRESH_GOLD = "freshness", "freshness-with-gold"
AT_LOW, AT_HIGH = "2,000 lines/s", "10,000 lines/s"
FRESHNESS = (
    Target(
        question=f"{AT_LOW}: half of the lines are in silver within",
        part=FRESH,
        figure=_of_rate(LOW_RATE, late(lateness.SILVER, "p50")),
        limit=1.0,
        unit=" s",
        yardstick="version 1: 2.44 s (with gold)",
    ),
    Target(
        question=f"{AT_LOW}: 99 % of the lines are in silver within",
        part=FRESH,
        figure=_of_rate(LOW_RATE, late(lateness.SILVER, "p99")),
        limit=2.0,
        unit=" s",
        yardstick="version 1: 3.67 s (with gold)",
    ),
    Target(
        question=f"{AT_LOW}: cores of the ingest",
        part=FRESH,
        figure=_of_rate(LOW_RATE, used("cores", programs.INGEST)),
        limit=0.5,
        yardstick="version 1: 0.71 (with gold)",
    ),
    Target(
        question=f"{AT_LOW}: peak memory of the ingest",
        part=FRESH,
        figure=_of_rate(LOW_RATE, used("peak_gb", programs.INGEST)),
        limit=1.5,
        unit=" GB",
    ),
    Target(
        question=f"{AT_HIGH}: half of the lines are in silver within",
        part=FRESH,
        figure=_of_rate(HIGH_RATE, late(lateness.SILVER, "p50")),
        limit=1.5,
        unit=" s",
        yardstick="version 1: 11.24 s (with gold)",
    ),
    Target(
        question=f"{AT_HIGH}: growth of silver's backlog, lines per line appended",
        part=FRESH,
        figure=_of_rate(HIGH_RATE, _growth),
        limit=GROWTH,
        digits=4,
        yardstick="version 1: -0.028 in 6 minutes (with gold)",
    ),
    Target(
        question=f"{AT_HIGH}: peak memory of the ingest",
        part=FRESH,
        figure=_of_rate(HIGH_RATE, used("peak_gb", programs.INGEST)),
        limit=1.5,
        unit=" GB",
    ),
    Target(
        question=f"{AT_LOW}, with gold: half of the lines are in gold within",
        part=FRESH_GOLD,
        figure=_of_rate(LOW_RATE, late(lateness.GOLD, "p50")),
        limit=4.0,
        unit=" s",
        yardstick="version 1: 13.58 s",
    ),
    Target(
        question=f"{AT_LOW}, with gold: 99 % of the lines are in gold within",
        part=FRESH_GOLD,
        figure=_of_rate(LOW_RATE, late(lateness.GOLD, "p99")),
        limit=8.0,
        unit=" s",
        yardstick="version 1: 30 s",
    ),
    Target(
        question=f"{AT_LOW}, with gold: half of the lines have a verdict within",
        part=FRESH_GOLD,
        figure=_of_rate(LOW_RATE, late(lateness.VERDICT, "p50")),
        limit=4.0,
        unit=" s",
    ),
    Target(
        question=f"{AT_LOW}, with gold: 99 % of the lines have a verdict within",
        part=FRESH_GOLD,
        figure=_of_rate(LOW_RATE, late(lateness.VERDICT, "p99")),
        limit=8.0,
        unit=" s",
    ),
    Target(
        question=f"{AT_LOW}, with gold: cores of build-gold",
        part=FRESH_GOLD,
        figure=_of_rate(LOW_RATE, used("cores", programs.GOLD)),
        limit=0.4,
        yardstick="version 1: 0.86",
    ),
    Target(
        question=f"{AT_HIGH}, with gold: half of the lines are in gold within",
        part=FRESH_GOLD,
        figure=_of_rate(HIGH_RATE, late(lateness.GOLD, "p50")),
        limit=8.0,
        unit=" s",
    ),
    Target(
        question=f"{AT_HIGH}, with gold: half of the lines have a verdict within",
        part=FRESH_GOLD,
        figure=_of_rate(HIGH_RATE, late(lateness.VERDICT, "p50")),
        limit=8.0,
        unit=" s",
    ),
)
COSTS = (
    Target(
        question="CPU seconds of the ingest per million request-log lines",
        part="costs",
        figure=_cost(costs.INGEST),
        limit=20.0,
        digits=1,
        measured_yardstick=_costs_of(costs.TEXTBOOK, costs.DUCKDB),
        yardstick="version 1: 84.4",
    ),
    Target(
        question="CPU of the ingest / CPU of the textbook pipeline",
        part="costs",
        figure=_cost_ratio(costs.INGEST, costs.TEXTBOOK),
        limit=0.40,
        yardstick="version 1: 1.56",
    ),
    Target(
        question="CPU of the ingest / CPU of DuckDB, which reads a file and has no crash guarantees",
        part="costs",
        figure=_cost_ratio(costs.INGEST, costs.DUCKDB),
        limit=0.65,
        yardstick="version 1: 2.47",
    ),
    Target(
        question="CPU of the ingest / CPU of Kafka's consumer perf test, which discards lines",
        part="costs",
        figure=_cost_ratio(costs.INGEST, costs.CONSUMER),
        yardstick="version 1: 19.6",
    ),
    Target(
        question="CPU seconds of gold per million request-log lines",
        part="costs",
        figure=_cost(costs.GOLD),
        limit=15.0,
        digits=1,
        measured_yardstick=_costs_of(costs.TEXTBOOK_GOLD),
        yardstick="version 1: 45",
    ),
    Target(
        question="CPU of gold / CPU of the textbook's one gold table",
        part="costs",
        figure=_cost_ratio(costs.GOLD, costs.TEXTBOOK_GOLD),
        yardstick="version 1: 9.05",
    ),
)
QUIET = (
    Target(
        question="Quiet cluster, 60 lines/s and scrapes: cores of the ingest",
        part="quiet",
        figure=_quiet(used("cores", programs.INGEST), with_gold=False),
        limit=0.15,
        yardstick="version 1: 0.93, with a trigger of 2 s; now up to 10 s",
    ),
    Target(
        question="Quiet cluster: peak memory of the ingest",
        part="quiet",
        figure=_quiet(used("peak_gb", programs.INGEST), with_gold=False),
        limit=1.5,
        unit=" GB",
        yardstick="version 1: 2.4 GB",
    ),
    Target(
        question="Quiet cluster: cores of ingest and build-gold",
        part="quiet",
        figure=_quiet(used("cores", *BOTH), with_gold=True),
        limit=0.30,
        yardstick="version 1: 1.7",
    ),
    Target(
        question="Quiet cluster: peak memory of ingest and build-gold",
        part="quiet",
        figure=_quiet(used("peak_gb", *BOTH), with_gold=True),
        limit=3.0,
        unit=" GB",
        yardstick="version 1: 4.8 GB",
    ),
    *(
        Target(
            question=f"Quiet cluster, with gold: {share} of the request-log lines {are} within",
            part="quiet",
            figure=_quiet(late(layer, quantile), with_gold=True),
            unit=" s",
        )
        for layer, are in ((lateness.SILVER, "are in silver"), (lateness.VERDICT, "have a verdict"))
        for quantile, share in (("p50", "half"), ("p99", "99 %"))
    ),
    Target(
        question="CPU seconds of a batch of gold of lines alone, with fetches and the verdict",
        part="quiet",
        figure=_batch("cpu_s", LINES),
        limit=1.0,
        yardstick="version 1: 3.4",
    ),
    Target(
        question="Duration of such a batch of lines alone",
        part="quiet",
        figure=_batch("wall_s", LINES),
        limit=0.8,
        unit=" s",
        yardstick="version 1: 2.2 s",
    ),
    Target(
        question="CPU seconds of a batch of gold that touches every table",
        part="quiet",
        figure=_batch("cpu_s", MOVES, EVERY),
        limit=2.5,
        yardstick="version 1: 3.4 and more",
    ),
)
HOUR = tuple(
    Target(
        question=f"An hour of silver at {AT_LOW} at once, {way}: peak memory of build-gold",
        part="hour",
        figure=_hour(way),
        unit=" GB",
    )
    for way in (hour.SHIPPED, hour.ONE_BATCH, hour.BACK_FILL)
)
OTHERS = (
    Target(
        question="Samples of scrapes per core-second, from text to committed silver",
        part="scrapes",
        figure=_samples(scrapes.INGEST),
        limit=300_000.0,
        is_least=True,
        digits=0,
        measured_yardstick=_samples_of(scrapes.CLIENT),
        yardstick="version 1: 56,002",
    ),
    Target(
        question=f"Append to a table with {aged.OLDEST:,} commits / append to a young one, wall time",
        part="aged",
        figure=_aged,
        limit=1.2,
        yardstick="version 1: 1.55",
    ),
)
TARGETS = (*COSTS, *FRESHNESS, *QUIET, *HOUR, *OTHERS)
