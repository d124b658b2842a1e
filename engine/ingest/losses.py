"""Records that Kafka lost before they were read: the errors that name them, their rows in `silver.gaps`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from conf.exit_codes import CommandError, ExitCode
from engine.delta import tables
from engine.ingest.task.arrow_rows import record_batch
from schemas.silver.not_kept import GAPS, Loss

NAME = f"{GAPS.layer}.{GAPS.name}"

FOUND = {
    Loss.RETENTION: "the topic's retention passed the checkpoint",
    Loss.COMPACTION: "these offsets have no record (compaction, or markers of transactions)",
}
WAY_OUT = (
    f"the loss is in {NAME}, nothing else was written: set a new [warehouse] checkpoints, and also another "
    "topic_prefix or a new [warehouse] root"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostOffsets:
    """An offset range, `first` inclusive, `end` exclusive, that was lost before it was read."""

    topic: str
    partition: int
    first: int
    end: int | None  # None: unknown
    reason: Loss = Loss.RETENTION

    @property
    def records(self) -> int | None:
        """The number of lost offsets; None: unknown."""
        return None if self.end is None else self.end - self.first

    def __str__(self) -> str:
        """Return the range as one line."""
        last = "the end" if self.end is None else f"{self.end - 1:,}"
        return f"{self.topic} partition {self.partition}: offsets {self.first:,} to {last}"


def accepted(one: LostOffsets) -> str:
    """Return the sentence about a gap that was accepted."""
    return f"gap accepted and recorded in {NAME}: {one}, {one.records:,} lines ({one.reason})"


class LostError(CommandError):
    """Kafka lost lines before they were read; ingest can continue after them."""

    exit_code = ExitCode.GONE

    def __init__(self, gone: Sequence[LostOffsets]) -> None:
        """Build the message, with every lost range; all have one reason."""
        super().__init__(
            f"lines are lost, {FOUND[gone[0].reason]}: "
            + "; ".join(str(one) for one in gone)
            + f"; nothing was written. --accept-gap records them in {NAME} and continues"
        )


class OffsetsReusedError(CommandError):
    """The offsets of a topic count other records than those that were read, so ingest cannot continue."""

    exit_code = ExitCode.GONE
    reason: ClassVar[Loss]

    def __init__(self, topic: str, partition: int | None, message: str) -> None:
        """Build the message, which says what to do; `partition` is None for the whole topic."""
        super().__init__(f"{message}; {WAY_OUT}")
        self.topic, self.partition = topic, partition


class TopicRecreatedError(OffsetsReusedError):
    """A topic was deleted and created again."""

    reason = Loss.RECREATION

    def __init__(self, topic: str, evidence: str) -> None:
        """Build the message."""
        message = f"{topic} was created again ({evidence}), so its unread lines are lost"
        super().__init__(topic, None, message)


class TruncatedError(OffsetsReusedError):
    """A partition lost the end of its log, which ingest had read; its topic is the same."""

    reason = Loss.UNCLEAN_ELECTION

    def __init__(self, topic: str, partition: int, evidence: str) -> None:
        """Build the message."""
        super().__init__(
            topic,
            partition,
            f"{topic} partition {partition} was truncated by an unclean leader election, or its broker lost "
            f"the log ({evidence}; the topic id is the same), so its unread lines are lost, and later lines "
            "have offsets that were read before",
        )


def record(
    warehouse: Path, gone: Sequence[LostOffsets], *, writer: str, batch: int | None, found_by: str = ""
) -> None:
    """
    Add lost ranges to `silver.gaps`, once per writer and batch.

    A loss after which the writer cannot continue has no batch, and is added once per `found_by`.
    """
    now = datetime.now(UTC)
    rows = [(g.topic, g.partition, g.first, g.end, g.records, now, g.reason, writer, batch) for g in gone]
    tables.append_rows(
        pa.Table.from_batches([record_batch(GAPS, rows)]),
        warehouse,
        GAPS,
        txn_app_id=found_by or writer,
        txn_version=batch or 0,
    )
