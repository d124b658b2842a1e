"""Parse the run document of `plumbline perf-test`, and the record headers that name the run."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from transforms.parse.columns import INT, LONG, ORIGIN, OriginColumns, row_type
from transforms.parse.documents import Misread, decode
from transforms.parse.record import Kept, Quarantined, Record

RUN_DOCUMENT = "plumbline_run"
DOCUMENT_BEGIN = f'{{"{RUN_DOCUMENT}"'
HEADERS = ("run", "arm", "scenario", "client-version")

INSTANT = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?Z", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AMOUNTS = ("warm_up_s", "asked_records", "asked_records_per_s", "record_size_bytes")
REASONS = {
    **dict.fromkeys(("started_at", "ended_at"), "impossible_timestamp"),
    **dict.fromkeys((*AMOUNTS, "exit_code"), "bad_number"),
}
"""The quarantine reason of a mistyped field; the reason of other fields is `missing_field`."""

Int = Annotated[int, msgspec.Meta(ge=-INT - 1, le=INT)]
Long = Annotated[int, msgspec.Meta(ge=-LONG - 1, le=LONG)]

Begin = tuple[str | None, str | None, str | None, str | None, str | None, int | None]
"""The first columns of a row, from `cluster` to `logged_at`."""

BEGIN_COLUMNS = "cluster run arm scenario client_version logged_at"
RunRow = row_type(
    "RunRow",
    BEGIN_COLUMNS,
    "started_at ended_at warm_up_s exit_code client_id topic_name",
    "asked_records asked_records_per_s record_size_bytes configuration quality_flags",
    ORIGIN,
)


class PerfRun(msgspec.Struct, gc=False):
    """A run of a performance test; every field may be missing."""

    run: str | None = None
    arm: str | None = None
    scenario: str | None = None
    client_version: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    warm_up_s: float | None = None
    exit_code: Int | None = None
    client_id: str | None = None
    topic_name: str | None = None
    asked_records: Long | None = None
    asked_records_per_s: float | None = None
    record_size_bytes: Int | None = None
    configuration: list[str | None] | None = None

    def fault(self, _line: str) -> Quarantined | None:
        """Return a fault if an instant does not exist or an amount is negative."""
        instants = {"started_at": self.started_at, "ended_at": self.ended_at}
        wrong = [name for name, text in instants.items() if text is not None and instant(text) is None]
        if wrong:
            return Quarantined("impossible_timestamp", ", ".join(wrong))
        negative = [name for name in AMOUNTS if (getattr(self, name) or 0) < 0]
        return Quarantined("bad_number", ", ".join(negative)) if negative else None

    def parsed(self, begin: Begin, _flags: list[str], end: OriginColumns) -> Kept:
        """Return the row of a run that has no fault; `logged_at` may be NULL without a flag."""
        others = msgspec.structs.astuple(self)[6:]
        instants = (instant(text) if text is not None else None for text in (self.started_at, self.ended_at))
        return Kept({"runs": [RunRow._make((*begin, *instants, *others, [], *end))]})


class RunDocument(msgspec.Struct, gc=False):
    """The run document, which is a line at the start and at the end of a run."""

    plumbline_run: PerfRun


DECODER = msgspec.json.Decoder(RunDocument)


def read_run(line: str) -> PerfRun | Quarantined | None:
    """Return the run, or the fault of a mistyped field; None if the line is no run document."""
    if not line.startswith(DOCUMENT_BEGIN):
        return None
    document = decode(line, DECODER)
    if not isinstance(document, Misread):
        return document.plumbline_run
    name = document.field.removeprefix(RUN_DOCUMENT).removeprefix(".")
    return Quarantined(REASONS.get(name, "missing_field"), name) if name else None


def run_names(record: Record, run: PerfRun | None) -> list[str | None]:
    """Return run, arm, scenario and client version, of the document or else of the headers; '' is None."""
    headers = dict(reversed(record.headers or ()))  # The first of several equal headers counts.
    names = [(headers.get(header) or b"").decode(errors="replace") or None for header in HEADERS]
    if run is None:
        return names
    written = (run.run, run.arm, run.scenario, run.client_version)
    return [own or name for own, name in zip(written, names, strict=True)]


def instant(text: str) -> int | None:
    """
    Return the microseconds since 1970 of an instant in the collector's format; None for any other text.

    >>> instant("1970-01-01T00:00:01.5Z"), instant("2026-02-30T00:00:00Z"), instant("2026")
    (1500000, None, None)
    """
    written = INSTANT.fullmatch(text)
    if written is None:
        return None
    year, month, day, hour, minute, second = map(int, written.groups()[:6])
    try:
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return (at - EPOCH) // timedelta(microseconds=1) + int((written[7] or "").ljust(6, "0"))
