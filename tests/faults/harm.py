"""What the faults of the streams' state share: lines to publish, ways to tear a file, all oracles at once."""

import random
from collections.abc import Sequence
from pathlib import Path

from jobs.hadoop_files import crc_of
from schemas.bronze import CLIENT_LOG, METRICS, REQUEST_LOG
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED
from tests.faults import oracles
from tests.faults.site import Acked, Line, Site, Written
from tests.jobs import made_logs

INGESTED = (REQUEST_LOG, CLIENT_LOG, METRICS, REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)
OF_ANOTHER_LOGGER = b"2026-11-21T11:04:10Z INFO Rolled new log segment (kafka.log.UnifiedLog)"
SECONDS = 30
BATCH = 300
KILLED_AT = ("", "offsets-logged:2", "files-written:2", "bronze-committed:2", "batch-written:2")
"""How the run before the harm ended: in order, or in the middle of a batch."""


def some_lines(folder: Path, dice: random.Random) -> list[Line]:
    """Give about a thousand lines of three brokers, a few of them bad or of another logger."""
    made_logs.write_logs(folder, seconds=SECONDS, added_ms={}, onset_s=0)
    lines = list[Line]()
    for path in sorted(folder.rglob("*.log")):
        node, kind = path.parent.name, "request-log" if "request" in path.name else "client-log"
        written = path.read_bytes().splitlines()
        for nth in dice.sample(range(len(written)), min(5, len(written))):
            written[nth] = dice.choice([written[nth][:80], b"\x00\xff\xfe", OF_ANOTHER_LOGGER])
        lines += [Line(kind, node, f"{node}/{kind}/{nth}", line) for nth, line in enumerate(written)]
    dice.shuffle(lines)
    return lines


def begun(
    bootstrap_servers: str, folder: Path, dice: random.Random, fail_at: str
) -> tuple[Site, Written, list[Line]]:
    """Publish two thirds of the lines and ingest them, or be killed meanwhile; give the lines to come."""
    site = Site(bootstrap_servers, folder)
    lines = some_lines(folder / "logs", dice)
    split = len(lines) * 2 // 3
    site.publish(lines[:split])
    written = site.warehouse("harmed", batch=BATCH)
    code, told = written.ingest(fail_at=fail_at)
    assert code == (-9 if fail_at else 0), told
    return site, written, lines[split:]


def found(written: Written, ledger: Sequence[Acked]) -> list[str]:
    """Ask every oracle that needs no twin."""
    return [
        *oracles.lost_or_doubled(written.root, ledger),
        *oracles.unbalanced(written.root),
        *oracles.bad_log(written.root, INGESTED),
    ]


def tear(file: Path, how: str) -> None:
    """Tear a file as a machine that went down does; its checksum stays. One that is not there is left so."""
    if not file.exists():
        return
    content = file.read_bytes()
    if how == "gone":
        file.unlink()
        crc_of(file).unlink(missing_ok=True)
    else:
        file.write_bytes({"empty": b"", "half": content[: len(content) // 2], "nul": b"\x00" * 512}[how])


def state_of(folder: Path) -> dict[str, int]:
    """Give the files of the warehouse and the checkpoints with their sizes: did a stopped job write any?"""
    rooms = (folder / "harmed" / "warehouse", folder / "harmed" / "checkpoints")
    files = (file for room in rooms for file in room.rglob("*") if file.is_file())
    told = (".lock", ".holder.json")  # of the lease: who holds it now
    return {str(file): file.stat().st_size for file in files if not file.name.endswith(told)}
