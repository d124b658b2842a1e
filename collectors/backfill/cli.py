"""The command `plumbline backfill`: publish samples of an existing Prometheus to the metrics topic."""

import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from collectors.backfill.export import Backfill, PublishedRange, SampleReader, Selection, seconds_of
from collectors.backfill.pages import Pages
from collectors.backfill.prometheus import PrometheusClient
from collectors.publish import Publisher
from conf.exit_codes import CommandError, ExitCode, exit_code_of
from conf.instants import SINCE_HELP, time_range
from conf.private_folder import make_private
from conf.progress import Progress
from conf.settings import Settings
from conf.signals import interrupt_on_signals

KAFKA_METRICS = '{__name__=~"(aws_msk_)?(kafka|java|jvm|process)_.+|aws_kafka_.+|up"}'
MARGIN = timedelta(minutes=1)
"""Margin for unfinished scrapes: samples have the start time of their scrape, but appear at its end."""


def backfill(  # noqa: PLR0913 (the options of a command)
    url: Annotated[str, typer.Argument(help="Base URL of the server: the part before /api/v1.")],
    *,
    since: Annotated[str, typer.Option(help=f"First instant. {SINCE_HELP}")],
    until: Annotated[
        str | None, typer.Option(help="End, exclusive. The same form. Default: one minute ago.")
    ] = None,
    match: Annotated[
        list[str] | None, typer.Option(help=f"Series selector; repeatable. Default: {KAFKA_METRICS}")
    ] = None,
    node_label: Annotated[
        str | None, typer.Option(help="Label that identifies the node. Default: instance.")
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help=r"Map label values to nodes, for example b(\d)\.site:9404=broker-\1; repeatable."),
    ] = None,
    drop_label: Annotated[
        list[str] | None,
        typer.Option(help="Label that the server added, to remove; repeatable. Default: job and instance."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Publish windows that an earlier run published, too.")
    ] = False,
    conf: Annotated[
        list[Path] | None,
        typer.Option(help="TOML settings file; repeatable, for each key the last file wins.", exists=True),
    ] = None,
) -> None:
    r"""
    Read raw samples from an existing Prometheus and publish them as scrapes of their nodes.

    A run continues after the last window that a run with the same server and selectors published. If you
    run the command every few minutes, it keeps up with the server. The settings in [prometheus] name the
    files that contain passwords and tokens.

    Exit codes: 0 done; 1 the server or the brokers failed; 2 wrong options or settings; 4 another backfill of
    the same samples runs; 130 stopped.

    Example: `plumbline backfill http://prometheus:9090 --since 7d --conf my.toml`

    Example: `plumbline backfill https://thanos/api --since 2026-11-01T00:00Z --until 2026-11-02T00:00Z
    --match '{job="kafka"}' --node 'kafka-(\d+)\..*=broker-\1' --conf my.toml`
    """
    progress = Progress()
    interrupt_on_signals()
    try:
        settings = _override(Settings.load(*(conf or ())), node_label, node, drop_label)
        settings.check_cluster(*(conf or ()))
        now = datetime.now(UTC)
        start, end = time_range(since, until, now)
        selection = Selection(
            selectors=tuple(match or (KAFKA_METRICS,)),
            since_ms=_epoch_ms(start or now),
            until_ms=_epoch_ms(end or now - MARGIN),
        )
        client = PrometheusClient(url, settings.prometheus)
        pages = Pages(settings.prometheus, client.url)
    except (ValueError, OSError) as error:
        progress.say(f"backfill: {error}")
        raise typer.Exit(ExitCode.WRONG) from error
    try:
        _run(settings, SampleReader(client, selection), pages, progress, again=again)
    except (CommandError, OSError) as error:
        progress.say(f"backfill: {error}")
        raise typer.Exit(exit_code_of(error)) from error
    except KeyboardInterrupt as error:
        progress.say("backfill: stopped; the next run continues after the last published window")
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def _epoch_ms(at: datetime) -> int:
    return round(at.timestamp() * 1_000)


def _override(
    settings: Settings, node_label: str | None, nodes: list[str] | None, drop_labels: list[str] | None
) -> Settings:
    former = settings.prometheus
    wrong = next((each for each in nodes or () if "=" not in each), None)
    if wrong:
        message = f"--node {wrong}: give PATTERN=NODE"
        raise ValueError(message)
    pairs = {pattern: node for pattern, _, node in (each.rpartition("=") for each in nodes or ())}
    changed = replace(
        former,
        node_label=node_label or former.node_label,
        nodes=pairs or former.nodes,
        drop_labels=tuple(drop_labels or former.drop_labels),
    )
    return replace(settings, prometheus=changed)


def _run(settings: Settings, reader: SampleReader, pages: Pages, progress: Progress, *, again: bool) -> None:
    client, selection = reader.client, reader.selection
    since_ms, until_ms = selection.since_ms, selection.until_ms
    state = Path(settings.collector.state)
    make_private(state)
    published = PublishedRange(state / "backfill", _identity(settings, client, selection))
    with published.lock(), progress:
        first_ms, last_ms = (since_ms, since_ms) if again else published.around(since_ms)
        if last_ms > since_ms:
            progress.say(
                f"an earlier run published up to {seconds_of(last_ms)}; --again publishes that again"
            )
        rest = replace(selection, since_ms=last_ms)
        if rest.since_ms >= rest.until_ms:
            progress.say(f"everything before {seconds_of(until_ms)} is already published")
            return
        pages.types = client.types()
        publisher = Publisher(settings.telemetry, settings.collector, threading.Event(), once=True)
        publisher.check()
        run = Backfill(reader, pages, publisher, published, progress.show)
        try:
            run.run(rest, published_since_ms=first_ms)
        except BaseException:
            publisher.abandon()
            raise
        for reason, first in pages.skipped.items():
            progress.say(f"skipped series {reason}; the first is {first}")
        if not pages.samples:
            progress.say(f"{client.url} has no samples of {' '.join(selection.selectors)} in this time range")


def _identity(settings: Settings, client: PrometheusClient, selection: Selection) -> dict[str, object]:
    """Return what identifies a published range; a change of any of these starts a new range."""
    names = ("node_label", "nodes", "drop_labels")
    return {
        "url": client.url,
        "selectors": selection.selectors,
        "cluster": settings.collector.cluster,
        "telemetry": [settings.telemetry.bootstrap_servers, settings.telemetry.topic_prefix],
        **{name: value for name, value in asdict(settings.prometheus).items() if name in names},
    }
