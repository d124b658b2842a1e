"""A stream and its tables for audits, written without Spark, and ways to tear their files."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake
from deltalake.transaction import Transaction

from engine.streams.audit.findings import StateError, Writer, apply_repairs
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from engine.streams.note import note_written
from engine.streams.writer_id import known_writer_id, writer_id

TOPIC, QUERY = "telemetry.request-log", "ingest_request_log"
BATCH = 10


class Stream:
    """A query that writes batches of ten records of one partition into bronze and silver."""

    def __init__(self, root: Path) -> None:
        """Create the checkpoint."""
        self.checkpoint, self.log = root / "checkpoint", StreamLog(root / "checkpoint")
        self.app_id = f"{QUERY}-{writer_id(self.checkpoint)}"
        self.bronze, self.silver = root / "bronze" / "request_log", root / "silver" / "requests"
        (self.checkpoint / "metadata").write_text('{"id":"d4110d41-a810-4184-8eb7-6ddf0261c033"}')
        first = self.checkpoint / "sources" / "0" / "0"
        first.parent.mkdir(parents=True)
        first.write_text(f'\x00v1\n{{"{TOPIC}":{{"0":0,"1":0}}}}')
        self.wrote = -1

    def writer(self) -> Writer:
        """Return the writer that the ingest would audit."""
        known = known_writer_id(self.checkpoint)
        return Writer(
            query_name=QUERY,
            checkpoint=self.checkpoint,
            app_id=f"{QUERY}-{known}" if known else None,
            bronze={TOPIC: self.bronze},
            tables=(self.bronze, self.silver),
        )

    def append(self, where: Path, batch: int, app_id: str = "") -> None:
        """Append a batch to a table."""
        where.mkdir(parents=True, exist_ok=True)
        offsets = range(batch * BATCH, (batch + 1) * BATCH)
        columns = {
            "topic": [TOPIC] * BATCH,
            "partition": pa.array([0] * BATCH, pa.int32()),
            "offset": list(offsets),
        }
        noted = CommitProperties(app_transactions=[Transaction(app_id or self.app_id, batch)])
        write_deltalake(where, pa.table(columns), mode="append", commit_properties=noted)

    def write(self, batches: int, *, until: str = "committed") -> "Stream":
        """Write batches; the last one stops after the step `until`."""
        for left in reversed(range(batches)):
            self.wrote += 1
            steps = ("offsets", "bronze", "silver", "noted", "committed")
            last = steps.index("committed" if left else until)
            self.log.write_ends(self.wrote, {(TOPIC, 0): (self.wrote + 1) * BATCH, (TOPIC, 1): 0})
            if last >= 1:
                self.append(self.bronze, self.wrote)
            if last >= 2:
                self.append(self.silver, self.wrote)
            if last >= 3:
                note_written(self.checkpoint, ["bronze.request_log", "silver.requests"], self.wrote)
            if last >= 4:
                self.log.write_commit(self.wrote)
        return self

    def audit(self) -> list[str]:
        """Audit and repair; return the messages. A second audit must find nothing more."""
        messages: list[str] = []
        apply_repairs(repairs_of([self.writer()]), messages.append)
        assert repairs_of([self.writer()]) == []
        return messages

    def refused(self) -> str:
        """Return the error of an audit that must be refused and must change nothing."""
        before = self.files()
        with pytest.raises(StateError) as stopped:
            repairs_of([self.writer()])
        assert self.files() == before
        return str(stopped.value)

    def files(self) -> dict[Path, bytes]:
        """Return every file with its content."""
        return {file: file.read_bytes() for file in self.checkpoint.parent.rglob("*") if file.is_file()}

    def entry(self, where: Path, version: int = -1) -> Path:
        """Return an entry of a table's log, the newest by default."""
        return sorted((where / "_delta_log").glob("*.json"))[version]


def tear(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "half": content[: len(content) // 2], "nul": b"\x00" * 40}[how])


TEARS = ["empty", "half", "nul", "gone"]
