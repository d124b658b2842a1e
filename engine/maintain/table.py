"""Maintain one table: delete old days, merge small files, remove unused files, and report each action."""

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable

from conf.progress import Progress
from conf.settings import Settings
from engine.delta.log_state import LAST_CHECKPOINT, VERSION_FILE, entry_file, log_state
from engine.ingest.positions import writers
from engine.maintain import actions, packing
from engine.maintain.streams import SECONDS_PER_HOUR, days_begun, needed, readers, stands_still
from engine.streams.audit.findings import StateError
from schemas.bronze import BRONZE
from schemas.delta_log import open_log
from schemas.fields import Table
from schemas.silver import SILVER
from schemas.silver.not_kept import QUARANTINE

WITHOUT_RETENTION = ("topics", "gaps", "metric_series", "throttle_changes", "reassignments", "isr_changes")
"""Tables that keep all rows: later lines need them, they hold a state, or they record lost lines."""

DONE = {"sort": "sorted"}


class UnconfirmedError(Exception):
    """Retention would delete rows because of a clock that may be wrong, or most rows of a table."""


class TableMaintenance:
    """The maintenance of one table, and its progress lines."""

    def __init__(
        self,
        settings: Settings,
        table: Table,
        progress: Progress,
        now: datetime,
        *,
        dry_run: bool,
    ) -> None:
        """
        Open the table's log.

        Raises:
            StateError: the log is damaged.

        """
        self._settings, self._options, self._table = settings, settings.maintain, table
        self._progress, self._now, self._dry_run = progress, now, dry_run
        self._where = settings.warehouse_root / table.layer / table.name
        check_log(self._where)
        self._log = open_log(self._where)
        self._target_bytes = self._options.target_file_mib * actions.MIB
        self._idle_hours = self._hours_without_change()
        self.has_work = False
        self._deleted = set[actions.LoggedFile]()  # files that a dry run would have deleted

    def keep_named(self) -> None:
        """Keep the log's entries and the names of removed files, before any commit could clean them up."""
        if not self._dry_run:
            actions.keep_named(self._log, self._options.vacuum_retention_hours)

    def retain(self, *, is_confirmed: bool = False) -> None:
        """
        Delete the days that are older than the retention of the layer, counted from the table's newest day.

        Raises:
            UnconfirmedError: the clock of this machine may be wrong, or most rows would be deleted.

        """
        days = getattr(self._options, f"{self._table.layer}_days")
        if not days or self._table.name in WITHOUT_RETENTION:
            return
        files = actions.files_of(self._log, self._table)
        newest = actions.newest_day(files, self._now.date())
        if newest is None:
            return
        before = self._first_day_to_keep(newest - timedelta(days=days))
        old = actions.outdated(files, self._table, before)
        if not old:
            return
        if not is_confirmed and not self._dry_run:
            self._check_plausible(files, before)
        self._warn_of_quarantine(before)
        self._deleted = set(old)
        if not self._dry_run:
            actions.delete_before(self._log, self._table, before)
        self._say("delete", f"rows from before {before}: {_size(old)}")

    def _check_plausible(self, files: Sequence[actions.LoggedFile], before: date) -> None:
        today, newest = self._now.date(), newest_of_all(self._settings, self._now.date())
        way_out = (
            f"check the clock (`date`), look at `--dry-run`, and confirm with `--yes --only {self._name}`"
        )
        if newest is not None and today - newest > timedelta(days=1):
            message = (
                f"rows from before {before} are not deleted: this machine's clock says {today}, but the "
                f"newest rows of the warehouse are of {newest}; {way_out}"
            )
            raise UnconfirmedError(message)
        share = actions.share_before(self._log, self._table, files, before)
        if share > 1 / 2:
            message = (
                f"rows from before {before} are not deleted: they are {share:.0%} of the table; {way_out}"
            )
            raise UnconfirmedError(message)

    def _first_day_to_keep(self, before: date) -> date:
        """Return the first day to keep; keep the days of an unfinished batch, which silver may lack."""
        begun = days_begun(writers(self._settings), self._where, actions.day_column(self._table) or "")
        reason = "the ingest has an unfinished batch; start `plumbline ingest`"
        if begun is None:
            self._progress.say(f"{self._name}: nothing is deleted, because {reason}")
            return date.min
        if begun and min(begun) < before:
            self._progress.say(f"{self._name}: rows from {min(begun)} on are kept, because {reason}")
        return min({before, *begun})

    def compact(self) -> None:
        """Merge small files, with one commit per day."""
        files = [file for file in actions.files_of(self._log, self._table) if file not in self._deleted]
        today, target_bytes = self._now.date(), self._target_bytes
        to_pack = packing.to_pack(files, today) if self._table.sort_by else {}
        for day, unpacked in to_pack.items():
            if not self._dry_run:
                packing.pack(self._log, self._table, day, target_bytes=target_bytes)
            self._say("sort", f"{day}: {_size(unpacked)}{self._remaining(day)}")
        chosen = actions.to_compact(
            [file for file in files if not self._table.sort_by or file.day is None or file.day >= today],
            today,
            target_bytes=target_bytes,
            from_files=self._options.compact_from_files,
        )
        for day, small in chosen.items():
            if not self._dry_run:
                actions.compact(self._log, self._table, day, target_bytes=target_bytes)
            self._say("merge", f"{f'{day}: ' if day else ''}{_size(small)}{self._remaining(day)}")

    def clean(self) -> None:
        """Remove the files and log entries that no reader needs, not even the slowest stream."""
        wanted = needed(
            self._where / "_delta_log",
            readers(Path(self._settings.warehouse.checkpoints).resolve(), str(self._log.metadata().id)),
            hours=self._options.vacuum_retention_hours,
            log_hours=actions.LOG_HOURS,
            now=self._now,
        )
        if wanted.why:
            self._progress.say(f"{self._name}: {wanted.why}")
        hours = wanted.hours + self._idle_hours
        unused = actions.unneeded(self._log, hours)
        if unused:
            if not self._dry_run:
                actions.vacuum(self._log, unused, hours)
            size = f"{len(unused):,} files of {_bytes(sum(unused.values()))}"
            self._say("remove", f"{size}, unused for {hours} h")
        if not self._dry_run:
            is_needed = wanted.is_log_needed or stands_still(writers(self._settings), self._where, self._now)
            # A reader that began before the clock was set forward still needs the entries of its version.
            log_hours = math.inf if is_needed else actions.LOG_HOURS + self._idle_hours
            expired = actions.tidy_log(self._log, hours=log_hours)
            if expired:
                self._say("remove", f"{expired:,} expired entries of the log")

    def _hours_without_change(self) -> int:
        """
        Return the whole hours since the newest entry of the log, or since the last `maintain`.

        A file that its writer is about to commit is hardly older. If the clock was set forward since then, or
        the machine slept, it looks unused for that long, but no commit has named it yet.
        """
        log = self._where / "_delta_log"
        newest = (entry_file(log, self._log.version()), log / LAST_CHECKPOINT)
        changed_at = max(file.stat().st_mtime for file in newest if file.exists())
        return max(0, int((self._now.timestamp() - changed_at) // SECONDS_PER_HOUR))

    @property
    def _name(self) -> str:
        return f"{self._table.layer}.{self._table.name}"

    def _say(self, verb: str, what: str) -> None:
        self.has_work = True
        done = f"would {verb}" if self._dry_run else DONE.get(verb, f"{verb}d")
        self._progress.say(f"{self._name}: {done} {what}")

    def _remaining(self, day: date | None) -> str:
        if self._dry_run:
            return ""
        now = [file for file in actions.files_of(self._log, self._table) if file.day == day]
        return f"; the day has {_size(now)} now" if day else f"; there are {_size(now)} now"

    def _warn_of_quarantine(self, before: date) -> None:
        """Report how many quarantined lines can no longer be replayed without these bronze rows."""
        where = self._settings.warehouse_root / QUARANTINE.layer / QUARANTINE.name
        if self._table not in BRONZE or not DeltaTable.is_deltatable(str(where)):
            return
        # Filter in Arrow: delta-rs treats a column without statistics as empty.
        held = open_log(where).to_pyarrow_table(columns=["kind", "quarantined_date"])
        old = pc.field("quarantined_date") < pc.scalar(before)
        count = held.filter(old & (pc.field("kind") == self._table.name.replace("_", "-"))).num_rows
        if count:
            self._progress.say(
                f"{self._name}: {count:,} quarantined lines from before {before} can no longer be replayed"
            )


def newest_of_all(settings: Settings, today: date) -> date | None:
    """Return the newest day of all tables with days, up to today; a table alone may rarely get rows."""
    days = []
    for table in (*BRONZE, *SILVER):
        where = settings.warehouse_root / table.layer / table.name
        if actions.day_column(table) and DeltaTable.is_deltatable(str(where)):
            days.append(actions.newest_day(actions.files_of(open_log(where), table), today))
    return max((day for day in days if day is not None), default=None)


def check_log(where: Path) -> None:
    """
    Check that the log of a table is whole, before anything is committed to it.

    delta-rs accepts an empty entry as a version and commits after it. The table's writer can repair a torn
    newest entry, but not a torn entry in the middle of the log.

    Raises:
        StateError: the log is damaged; the message names the job to run.

    """
    # The first check may see half of a commit that a stream is writing; only real damage is there twice.
    broken = _broken(where) and _broken(where)
    if broken:
        job = "build-gold" if where.parent.name == "gold" else "ingest"
        way_out = f"run `plumbline {job}`, which repairs it or says what to do"
        raise StateError(broken, "reading the log", "is torn, missing or left over", way_out)


def _broken(where: Path) -> Path | None:
    """Return a torn or missing entry, or a file of a version that the log lacks; None if it is whole."""
    state = log_state(where)
    newer = (
        file
        for file in state.confusing
        if (match := VERSION_FILE.match(file.name)) and int(match[1]) > state.version
    )
    return state.hole or next(iter(state.torn), None) or next(newer, None)


def _size(files: Sequence[actions.LoggedFile]) -> str:
    return f"{len(files):,} files of {_bytes(sum(file.size_bytes for file in files))}"


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1_024:  # noqa: PLR2004 (the step of the units)
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1_024
    return f"{n:.1f} TiB"
