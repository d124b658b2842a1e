"""Run one collector: tail logs, scrape exporters, publish, and save the positions of acknowledged lines."""

import logging
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError
from filelock import FileLock, Timeout

from collectors.errors import CollectorError
from collectors.log_files.followed import FollowedLog
from collectors.log_files.positions import (
    InFlight,
    LogProgress,
    copied,
    load_positions,
    save_positions,
)
from collectors.log_files.siblings import separated
from collectors.log_files.tail import Tailer
from collectors.meters import CollectorMeters
from collectors.publish import Delivered, Publisher, StoppedError
from collectors.scrapers import start_scrapers
from conf.exit_codes import HeldError, WrongUseError
from conf.host_clock import ended_when_set_back
from conf.metrics_endpoint import metrics_endpoint
from conf.private_folder import make_private
from conf.progress import Progress
from conf.settings import Collector, Settings, TailedFile

if TYPE_CHECKING:
    from collectors.scrape import Scrape

log = logging.getLogger(__name__)

TICK_S = 1.0  # how often positions are saved; after a kill, about this much is sent again
PORT_SETTING = "[collector] metrics_port"
BLOCKS_PER_TURN = 16  # at most 4 MiB of one log before the next log is read
FLUSH_S = 30.0
QUIET_S = 3.0  # at the end, stop waiting after this long without an ack


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals of one run. The next run reads the unacknowledged records again."""

    lines: int
    read_bytes: int
    unacknowledged: int


def run(settings: Settings, stop: threading.Event, *, once: bool = False) -> Summary:
    """
    Collect until `stop` is set; with `once`, until everything that exists now is acknowledged.

    Only positions of acknowledged lines are saved, so the next run loses no line however this one ends.

    Raises:
        WrongUseError: the settings list no input, or a file of a login cannot be read.
        HeldError: another collector uses the state folder.
        CollectorError: the positions cannot be read or written, or the telemetry cluster does not accept
            records.

    """
    collector = settings.collector
    if not (collector.files or collector.endpoints or collector.cluster_bootstrap_servers):
        message = "nothing to collect: list [[collector.files]] or [[collector.endpoints]] in a --conf file"
        raise WrongUseError(message)
    collector.cluster_security.librdkafka()
    state = Path(collector.state)
    make_private(state)
    is_first_run = not (state / "lock").exists()
    try:
        lock = FileLock(state / "lock").acquire(timeout=0)
    except Timeout as error:
        message = f"another collector works in {state}; stop it, or give this one its own state folder"
        raise HeldError(message) from error
    meters, port = CollectorMeters(), collector.metrics_port
    with (
        lock,
        ended_when_set_back("collect"),
        metrics_endpoint(meters.registry, port, PORT_SETTING) as url,
        Progress() as progress,
    ):
        progress.say(f"metrics: {url}")
        publisher = Publisher(settings.telemetry, collector, stop, once=once)
        collection = _Collection(collector, publisher, meters, progress, stop, is_first_run=is_first_run)
        try:
            publisher.check()
        except StoppedError:
            return Summary(0, 0, 0)
        return collection.collect(once=once)


class _Collection:
    """The loop over all logs and scrapes. Only its thread uses the producer."""

    def __init__(  # noqa: PLR0913 (the parts of one collector, each by name)
        self,
        collector: Collector,
        publisher: Publisher,
        meters: CollectorMeters,
        progress: Progress,
        stop: threading.Event,
        *,
        is_first_run: bool,
    ) -> None:
        self._collector = collector
        self._publisher = publisher
        self._meters = meters
        self._progress = progress
        self._stop = stop
        self._positions = Path(collector.state) / "positions.json"
        self._saved = load_positions(self._positions)
        self._is_state_lost = not is_first_run and not self._positions.exists()
        if self._is_state_lost:
            log.warning(
                "%s is gone: every file of each log is sent again; the positions of its lines stay the same",
                self._positions,
            )
        publisher.on_wait = self._tick_when_due
        self._ticked_at = time.monotonic()
        self._scrapes: Queue[Scrape] = Queue(maxsize=2 * len(collector.endpoints) + 2)
        self._scrapes_in_flight = 0
        self._stop_scraping = threading.Event()
        self._known = dict(self._saved)  # also of logs that the settings no longer list
        self._logs = [self._followed(file) for file in collector.files]
        lives = {(log.file.kind, log.file.node, log.tailer.live.resolve()) for log in self._logs}
        if len(lives) < len(self._logs):
            message = (
                "[[collector.files]] lists a log twice, so each line would be sent twice; remove one entry"
            )
            raise CollectorError(message)
        self._save()  # the start of a new log is decided once, even if this run is killed now

    def collect(self, *, once: bool) -> Summary:
        """Run the loop; always save positions and close all files and threads."""
        scrapers = start_scrapers(self._collector, self._scrapes, self._stop_scraping, once=once)
        with ExitStack() as closing:
            closing.callback(self._stop_scraping.set)
            for followed in self._logs:
                closing.callback(followed.tailer.close)
            closing.callback(self._tick)  # saves the positions, also after a failure
            closing.callback(self._publisher.abandon)
            try:
                self._follow(scrapers, once=once)
            except StoppedError:
                log.info("stopped while the producer queue was full")
            unacknowledged = self._publisher.flush(FLUSH_S, QUIET_S)
            self._publisher.serve()
            if unacknowledged:
                log.warning("%d records were not acknowledged; the next run sends them again", unacknowledged)
            return Summary(self._meters.lines, self._meters.read_bytes, unacknowledged)

    def _followed(self, file: TailedFile) -> FollowedLog:
        name = f"{file.kind} {file.node} {Path(file.path).absolute()}"
        of_node = f"{file.kind} {file.node} /"

        def others() -> list[LogProgress]:
            return [
                known for other, known in self._known.items() if other.startswith(of_node) and other != name
            ]

        saved = self._saved.get(name, {} if self._is_state_lost else None)
        tailer = Tailer(file, None if saved is None else separated(saved, others()), others=others)
        self._known[name] = tailer.known
        topic = self._publisher.topic(file.kind)

        def failed(error: KafkaError) -> None:
            self._publisher.failed(error, topic)

        self._meters.declare(file)
        return FollowedLog(file, name, tailer, InFlight(copied(tailer.known), failed))

    def _follow(self, scrapers: list[threading.Thread], *, once: bool) -> None:
        followed_on = list(self._logs)
        while not self._stop.is_set():
            has_read = False
            for followed in list(followed_on):
                has_more = self._take(followed)
                has_read |= has_more
                if once and not has_more and not followed.tailer.is_waiting:
                    followed_on.remove(followed)  # read to its end once; a busy log would never be idle
            has_read |= self._take_scrapes()
            self._publisher.serve()
            self._tick_when_due()
            if has_read:
                continue
            if once and not followed_on and not self._is_more_to_come(scrapers):
                return
            self._stop.wait(self._collector.poll_interval_s)

    def _take(self, followed: FollowedLog) -> bool:
        """Publish up to `BLOCKS_PER_TURN` blocks of one log; return whether there may be more."""
        for _ in range(BLOCKS_PER_TURN):
            batch = followed.tailer.poll()
            if batch is None:
                return False
            self._meters.read(followed.file, batch)
            if batch.mark not in followed.flight.safe:
                followed.flight.identify(batch.mark, batch.head)
                self._save()  # else the file of another log could get this mark after a kill
            self._publisher.send_batch(batch, followed.flight)
            self._publisher.serve()
        return True

    def _take_scrapes(self) -> bool:
        has_taken = False
        while True:
            try:
                scrape = self._scrapes.get_nowait()
            except Empty:
                return has_taken
            has_taken = True
            self._meters.scraped(scrape)
            if scrape.line:
                self._scrapes_in_flight += 1
                self._publisher.send(scrape.line, self._delivered(scrape.line.kind))

    def _delivered(self, kind: str) -> Delivered:
        def delivered(error: KafkaError | None, _message: object) -> None:
            self._scrapes_in_flight -= 1
            if error is not None:
                self._publisher.failed(error, self._publisher.topic(kind))

        return delivered

    def _is_more_to_come(self, scrapers: list[threading.Thread]) -> bool:
        is_scraping = any(scraper.is_alive() for scraper in scrapers) or not self._scrapes.empty()
        is_unsafe = self._scrapes_in_flight or any(len(followed.flight) for followed in self._logs)
        return bool(is_scraping or is_unsafe)

    def _tick_when_due(self) -> None:
        if time.monotonic() - self._ticked_at >= TICK_S:
            self._tick()

    def _tick(self) -> None:
        self._ticked_at = time.monotonic()
        self._save()
        in_flight, behind_bytes = self._scrapes_in_flight, 0
        for followed in self._logs:
            acked, behind = followed.flight.acked_records, followed.tailer.bytes_behind()
            self._meters.progress(
                followed.file,
                acked=acked - followed.counted_acks,
                in_flight=len(followed.flight),
                behind_bytes=behind,
            )
            followed.counted_acks = acked
            in_flight += len(followed.flight)
            behind_bytes += behind
        meters = self._meters
        self._progress.show(
            f"collected {meters.lines:,} lines, {meters.read_bytes / 1e6:,.1f} MB; "
            f"behind {behind_bytes / 1e6:,.1f} MB, {in_flight:,} in flight"
        )

    def _save(self) -> None:
        """Save changed positions. Logs that the settings no longer list keep their positions."""
        for followed in self._logs:
            followed.tidy()
        safe = {**self._saved, **{followed.name: copied(followed.flight.safe) for followed in self._logs}}
        if safe != self._saved or not self._positions.exists():
            try:
                save_positions(self._positions, safe)
            except OSError as error:
                message = (
                    f"{self._positions} cannot be written ({error.strerror}); make room or grant write "
                    "permission, and start again. Lines sent since the last save are sent twice; none is lost"
                )
                raise CollectorError(message) from error
            self._saved = safe
