"""The inputs of a report: the files in a folder, and what was read from each."""

from collections import Counter
from pathlib import Path

from collectors.files import FoundFiles
from engine.ingest.raw_files import FileRead, readable
from schemas.rows import Row
from serving.report.run.options import Wanted


def inputs_of_files(folder: Path, wanted: Wanted, found: FoundFiles, read: list[FileRead]) -> Row:
    """Return the files with their kinds and counts, the files that were not read and why, and the options."""
    return {
        "from": readable(folder),
        "time_zone": wanted.time_zone,
        "nodes": wanted.nodes,
        "files": [
            {
                "path": file.source,
                "node": file.node,
                "kind": file.kind,
                "lines": file.lines,
                "bytes": file.value_bytes,
                "damage": file.damage,
            }
            for file in read
        ],
        "not_understood": [
            {"path": readable(path.relative_to(folder)), "reason": reason}
            for path, reason in found.not_understood
        ],
        "passed_over": [
            {"what": what, "files": files}
            for what, files in sorted(Counter(what for _, what in found.passed_over).items())
        ],
    }
