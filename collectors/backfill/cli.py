"""`plumbline backfill`: what an existing Prometheus holds, into the metrics topic."""

import re
import signal
import threading
import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from collectors.backfill.export import Backfill, Done, Reader, Span, seconds_of
from collectors.backfill.pages import Pages
from collectors.backfill.prometheus import Client
from collectors.errors import CollectorError
from collectors.publish import Publisher
from collectors.screen import Screen
from conf.settings import Settings

EXIT_FAILED, EXIT_WRONG, STOPPED = 1, 2, 130
OF_KAFKA = '{__name__=~"(aws_msk_)?(kafka|java|jvm|process)_.+|aws_kafka_.+|up"}'
NOT_YET_S = 60
"""A scrape has the instant of its beginning, and is there once it has ended."""

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def backfill(  # noqa: PLR0913 (the options of a command)
    url: Annotated[str, typer.Argument(help="Base URL of the server, what stands in front of /api/v1.")],
    *,
    since: Annotated[str, typer.Option(help="An instant (2026-11-01T08:00Z) or an age (36h, 7d).")],
    until: Annotated[str | None, typer.Option(help="The same; a minute ago by default.")] = None,
    match: Annotated[
        list[str] | None, typer.Option(help=f"Series selector; repeatable. By default {OF_KAFKA}")
    ] = None,
    node_label: Annotated[
        str | None, typer.Option(help="Label that tells the node; `instance` by default.")
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help=r"PATTERN=NODE of that label's value, b(\d)\.site:9404=broker-\1; repeatable."),
    ] = None,
    drop_label: Annotated[
        list[str] | None,
        typer.Option(help="A label that the server added; repeatable. By default job and instance."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also publish what an earlier run has published.")
    ] = False,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True)
    ] = None,
) -> None:
    r"""
    Read raw samples out of an existing Prometheus and publish them as scrapes of the nodes they are of.

    A run goes on where the last one of the same server and selection ended, whole or broken off: run it
    every few minutes and it keeps up. Passwords and tokens stand in files that [prometheus] of the settings
    names. Exit codes: 0 done, 1 the server or the brokers failed, 2 wrong options or settings, 130 stopped.

    Example: `plumbline backfill http://prometheus:9090 --since 7d --conf my.toml`

    Example: `plumbline backfill https://thanos/api --since 2026-11-01T00:00Z --until 2026-11-02T00:00Z
    --match '{job="kafka"}' --node 'kafka-(\d+)\..*=broker-\1' --conf my.toml`
    """
    screen = Screen()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        settings = _overlaid(Settings.load(*(conf or ())), node_label, node, drop_label)
        now_ms = int(time.time() * 1_000)
        span = Span(
            selectors=tuple(match or (OF_KAFKA,)),
            since_ms=instant_ms(since, now_ms),
            until_ms=instant_ms(until, now_ms) if until else now_ms - NOT_YET_S * 1_000,
        )
        client = Client(url, settings.prometheus)
        pages = Pages(settings.prometheus, client.url)
    except (ValueError, OSError) as error:
        screen.note(f"backfill: {error}")
        raise typer.Exit(EXIT_WRONG) from error
    try:
        _run(settings, Reader(client, span), pages, screen, again=again)
    except (CollectorError, OSError) as error:
        screen.note(f"backfill: {error}")
        raise typer.Exit(EXIT_FAILED) from error
    except KeyboardInterrupt as error:
        screen.note("backfill: stopped; the next run goes on behind the last window that was published")
        raise typer.Exit(STOPPED) from error


def instant_ms(told: str, now_ms: int) -> int:
    """
    Read an instant or an age; one without a zone is UTC.

    Raises:
        ValueError: it is neither.

    >>> instant_ms("2023-11-14T22:13:20.5", 0), instant_ms("2h", 7_200_000)
    (1700000000500, 0)
    """
    age = re.fullmatch(r"(\d+)([smhd])", told)
    if age:
        return now_ms - int(age[1]) * UNITS_S[age[2]] * 1_000
    with suppress(ValueError):
        at = datetime.fromisoformat(told)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000)
    message = f"{told}: give an instant, 2026-11-01T08:00Z, or an age, 30m, 36h or 7d"
    raise ValueError(message)


def _overlaid(
    settings: Settings, node_label: str | None, nodes: list[str] | None, drop_labels: list[str] | None
) -> Settings:
    told = settings.prometheus
    wrong = next((each for each in nodes or () if "=" not in each), None)
    if wrong:
        message = f"--node {wrong}: give PATTERN=NODE"
        raise ValueError(message)
    pairs = {pattern: node for pattern, _, node in (each.rpartition("=") for each in nodes or ())}
    changed = replace(
        told,
        node_label=node_label or told.node_label,
        nodes=pairs or told.nodes,
        drop_labels=tuple(drop_labels or told.drop_labels),
    )
    return replace(settings, prometheus=changed)


def _run(settings: Settings, reader: Reader, pages: Pages, screen: Screen, *, again: bool) -> None:
    client, span = reader.client, reader.span
    done = Done(Path(settings.collector.state) / "backfill", _identity(settings, client, span))
    with done.lock(), screen:
        known_from, known_until = (span.since_ms, span.since_ms) if again else done.told(span.since_ms)
        if known_until > span.since_ms:
            screen.note(f"an earlier run published up to {seconds_of(known_until)}; --again reads that too")
        left = replace(span, since_ms=known_until)
        if left.since_ms >= left.until_ms:
            screen.note(f"nothing is left before {seconds_of(span.until_ms)}")
            return
        pages.types = client.types()
        publisher = Publisher(settings.telemetry, settings.collector, threading.Event(), once=True)
        publisher.check()
        run = Backfill(reader, pages, publisher, done, screen.show)
        try:
            run.run(left, done_from_ms=known_from)
        except BaseException:
            publisher.abandon()
            raise
        for why, first in pages.left_out.items():
            screen.note(f"left out are series {why}, such as {first}")
        if not pages.samples:
            screen.note(f"{client.url} has no samples of {' '.join(span.selectors)} in that time")


def _identity(settings: Settings, client: Client, span: Span) -> dict[str, object]:
    """Tell apart what is published; whoever changes one of these begins anew."""
    names = ("node_label", "nodes", "drop_labels")
    return {
        "url": client.url,
        "selectors": span.selectors,
        "cluster": settings.collector.cluster,
        "telemetry": [settings.telemetry.bootstrap_servers, settings.telemetry.topic_prefix],
        **{name: value for name, value in asdict(settings.prometheus).items() if name in names},
    }


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
