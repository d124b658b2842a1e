"""Delivery at its worst: every line published a second time; lines that come hours late and in no order."""

import random
import shutil
from pathlib import Path

from benchmarks.faults import oracles
from benchmarks.faults.lines import all_lines
from benchmarks.faults.oracles import INGESTED, OF_OTHERS
from benchmarks.faults.site import JobsWarehouse, PublishedLine, Site
from engine.gold.stream import STREAM
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.produce_held import PRODUCE_HELD
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

SECONDS = 60
HOURS = (5, 6, 8, 11)
MADE_IN_HOUR = b"T11:"
LATE_SHARE = 0.3
OF_WINDOWS = tuple(table for table in STREAM.gold if table != DATA_QUALITY)


def topic_replayed(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Publish every line twice: bronze and silver hold it as sent again, and gold stays as it was."""
    site, written = _site(bootstrap_servers, folder)
    damaged = all_lines.damaged(
        [line for _, line in all_lines.in_order(folder / "logs", seconds=SECONDS)], dice
    )
    site.publish(damaged)
    wrong = _take(written)
    before = folder / "before"
    shutil.copytree(written.root, before)
    site.publish(damaged)
    wrong += _take(written) + _audit(site, written)
    for table in (REQUESTS, CLIENT_EVENTS):
        once, twice = (oracles.rows_of(root, table, "position").num_rows for root in (before, written.root))
        wrong += (
            [f"{table.name}: {once} rows, and {twice} once all was sent again"] if twice != 2 * once else []
        )
    may_be_empty = (BROKER_RTT_BASELINE, PRODUCE_HELD, *OF_OTHERS)
    return wrong + oracles.other_than_twin(written.root, before, OF_WINDOWS, may_be_empty=may_be_empty)


def late_by_hours(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Hold back the oldest hours and a part of the others, and publish in no order: gold is the same."""
    hourly = _over_hours(folder / "logs")
    site, written = _site(bootstrap_servers, folder / "late")
    is_late = [hour in HOURS[:2] or dice.random() < LATE_SHARE for hour, _ in hourly]
    wrong = list[str]()
    for late in (False, True):
        part = [line for (_, line), held in zip(hourly, is_late, strict=True) if held == late]
        dice.shuffle(part)
        site.publish(part)
        wrong += _take(written)
    ordered, twin = _site(bootstrap_servers, folder / "ordered")
    ordered.publish(line for _, line in hourly)
    return [
        *wrong,
        *_take(twin),
        *_audit(site, written),
        *oracles.other_than_twin(
            written.root,
            twin.root,
            STREAM.gold,
            may_be_empty=(STOCK_FETCH_TOTAL, LEADER_LOCAL_MEAN, PRODUCE_HELD, *OF_OTHERS),
        ),
    ]


FAULTS = {"topic-replayed": topic_replayed, "late-by-hours": late_by_hours}


def _over_hours(folder: Path) -> list[tuple[int, PublishedLine]]:
    """Return a minute of lines in each of some hours."""
    minute = [line for _, line in all_lines.in_order(folder, seconds=SECONDS) if line.kind != "metrics"]
    return [(hour, _moved(line, hour)) for hour in HOURS for line in minute]


def _moved(line: PublishedLine, hour: int) -> PublishedLine:
    value = line.value.replace(MADE_IN_HOUR, b"T%02d:" % hour, 1)
    return PublishedLine(line.kind, line.node, f"{line.position}/{hour}", value)


def _site(bootstrap_servers: str, folder: Path) -> tuple[Site, JobsWarehouse]:
    folder.mkdir(exist_ok=True)
    site = Site(bootstrap_servers, folder)
    return site, site.warehouse("written", batch=3_000)


def _take(written: JobsWarehouse) -> list[str]:
    ended = {"ingest": written.ingest(), "build-gold": written.build_gold()}
    return [
        f"{word} ended with exit code {code}: {output[-300:]}"
        for word, (code, output) in ended.items()
        if code
    ]


def _audit(site: Site, written: JobsWarehouse) -> list[str]:
    return [
        *oracles.lost_or_doubled(written.root, site.ledger),
        *oracles.unbalanced(written.root),
        *oracles.bad_log(written.root, (*INGESTED, *STREAM.gold)),
        *oracles.unbalanced_books(written.root),
    ]
