"""What the faults of the streams' state share: lines to publish, ways to tear a file, all oracles at once."""

import random
from collections.abc import Callable, Collection
from itertools import pairwise
from pathlib import Path

from benchmarks.faults import oracles
from benchmarks.faults.oracles import INGESTED, OF_OTHERS, RecordId
from benchmarks.faults.site import JobsWarehouse, PublishedLine, Site
from engine.process.hadoop_files import crc_of
from schemas.bronze import METRICS
from schemas.silver.brokers import BROKERS
from schemas.silver.metrics import METRICS as OF_METRICS
from schemas.silver.not_kept import SKIPPED
from schemas.silver.topics import TOPICS
from tests.engine import made_logs

MAY_BE_EMPTY = (METRICS, *OF_METRICS, TOPICS, BROKERS, *OF_OTHERS)
"""The lines that are published here have no scrape, and no METADATA response with topics and brokers."""

OF_ANOTHER_LOGGER = b"2026-11-21T11:04:10Z INFO Rolled new log segment (kafka.log.UnifiedLog)"
SECONDS = 30
BATCH = 150
KILLED_AT = ("", "offsets-logged:2", "files-written:2", "bronze-committed:2", "batch-written:2")
"""How the run before the harm ended: in order, or in the middle of a batch."""


def some_lines(folder: Path, dice: random.Random) -> list[PublishedLine]:
    """Return about a thousand lines of three brokers, a few of them bad or of another logger."""
    made_logs.write_logs(folder, seconds=SECONDS, added_ms={}, onset_s=0)
    lines = list[PublishedLine]()
    for path in sorted(folder.rglob("*.log")):
        node, kind = path.parent.name, "request-log" if "request" in path.name else "client-log"
        written = path.read_bytes().splitlines()
        for nth in dice.sample(range(len(written)), min(5, len(written))):
            written[nth] = dice.choice([written[nth][:80], b"\x00\xff\xfe", OF_ANOTHER_LOGGER])
        lines += [PublishedLine(kind, node, f"{node}/{kind}/{nth}", line) for nth, line in enumerate(written)]
    dice.shuffle(lines)
    return lines


def begun(  # noqa: PLR0913 (where, what by chance, and what of it a fault wants otherwise)
    bootstrap_servers: str,
    folder: Path,
    dice: random.Random,
    fail_at: str,
    *,
    more: str = "",
    between: Callable[[JobsWarehouse], None] = lambda _: None,
) -> tuple[Site, JobsWarehouse, list[PublishedLine]]:
    """
    Publish two thirds of the lines and ingest each in a run, the second maybe killed; return the other lines.

    The first run ended well, so there is something to tear of everything, whenever the second was killed.
    """
    site = Site(bootstrap_servers, folder)
    first, second, third = parted(some_lines(folder / "logs", dice), 3)
    site.publish(first)
    written = site.warehouse("harmed", batch=BATCH, more=more)
    code, output = written.ingest()
    assert code == 0, output
    between(written)
    site.publish(second)
    code, output = written.ingest(fail_at=fail_at)
    assert code == (-9 if fail_at else 0), output
    return site, written, third


def parted(lines: list[PublishedLine], n: int) -> list[list[PublishedLine]]:
    """
    Split lines into `n` portions of about the same length.

    >>> parted([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4, 5]]
    """
    ends = [len(lines) * nth // n for nth in range(n + 1)]
    return [lines[begin:end] for begin, end in pairwise(ends)]


def twin_of(site: Site) -> JobsWarehouse:
    """Let another warehouse read the same topics, undisturbed and in one go."""
    twin = site.warehouse("twin", batch=1_000_000)
    code, output = twin.ingest()
    assert code == 0, output
    return twin


def found(
    site: Site, written: JobsWarehouse, *, twin: JobsWarehouse | None = None, gone: Collection[RecordId] = ()
) -> list[str]:
    """
    Return what the oracles of bronze and silver find; only the twin read records that are `gone`.

    Of lines that were skipped only the number is known, so where some are gone these are not compared.
    """
    twin = twin or twin_of(site)
    held = [acked for acked in site.ledger if (acked.topic, acked.partition, acked.offset) not in gone]
    compared = [table for table in INGESTED if not (gone and table == SKIPPED)]
    return [
        *oracles.lost_or_doubled(written.root, held),
        *oracles.unbalanced(written.root),
        *oracles.bad_log(written.root, INGESTED),
        *oracles.other_than_twin(written.root, twin.root, compared, may_be_empty=MAY_BE_EMPTY, gone=gone),
    ]


def tear(file: Path, how: str) -> None:
    """Tear a file, which must be there, as a machine that went down does; its checksum stays."""
    content = file.read_bytes()
    if how == "gone":
        file.unlink()
        crc_of(file).unlink(missing_ok=True)
    else:
        file.write_bytes({"empty": b"", "half": content[: len(content) // 2], "nul": b"\x00" * 512}[how])


def state_of(folder: Path) -> dict[str, int]:
    """Return the files of warehouse and checkpoints with their sizes, to see whether a job wrote any."""
    rooms = (folder / "harmed" / "warehouse", folder / "harmed" / "checkpoints")
    files = (file for room in rooms for file in room.rglob("*") if file.is_file())
    of_lease = (".lock", ".holder.json")  # they change with its holder
    return {str(file): file.stat().st_size for file in files if not file.name.endswith(of_lease)}
