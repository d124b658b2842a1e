"""The parser options of a query, noted in its checkpoint: one batch must not be parsed with two of them."""

from pathlib import Path

from engine.process.hadoop_files import write_whole
from engine.streams.audit.findings import StateError
from engine.streams.log import StreamLog

OPTIONS = "plumbline-parser-options.txt"


def check_options(checkpoint: Path, options: str) -> None:
    """
    Compare the parser options with those of an unfinished batch; note them if every batch is finished.

    Raises:
        StateError: an unfinished batch has other options, so its tables would contradict each other.

    """
    log, file = StreamLog(checkpoint), checkpoint / OPTIONS
    before = file.read_text(errors="replace") if file.exists() else options
    if before == options and file.exists():
        return
    if log.offsets and log.offsets[-1] not in log.commits and before != options:
        wrong = f"has batch {log.offsets[-1]} begun with other settings: {before}; they are now {options}"
        way_out = "restore the former settings, run `plumbline ingest --once`, then change them"
        raise StateError(checkpoint, "comparing settings", wrong, way_out)
    write_whole(file, options)
