"""
The checksum file of a version of a Delta table (`N.crc`): protocol, metadata, number and size of the files.

Delta Spark reads the protocol and metadata of a new version from it. Without it, each stream runs a Spark job
per new version of a table to find them: half of the JVM's cost of a small batch of gold (decision 053).
The file only saves time: readers ignore one that is missing or torn, so it is not synced to disk.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

KEPT = 10
"""Newest versions whose checksum is kept: readers need that of the version they read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChecksum:
    """What the checksum file of a version says."""

    protocol: dict[str, int]
    metadata: dict[str, Any]
    files: int
    size: int  # bytes

    @classmethod
    def from_log(cls, log: DeltaTable) -> "VersionChecksum":
        """Return the checksum of the version that a log was opened or updated at."""
        metadata, protocol = log.metadata(), log.protocol()
        sizes = pa.table(log.get_add_actions())["size_bytes"]
        return cls(
            protocol={
                "minReaderVersion": protocol.min_reader_version,
                "minWriterVersion": protocol.min_writer_version,
            },
            metadata={
                "id": str(metadata.id),
                "name": metadata.name,
                "description": metadata.description,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": log.schema().to_json(),
                "partitionColumns": metadata.partition_columns,
                "configuration": metadata.configuration,
                "createdTime": metadata.created_time,
            },
            files=len(sizes),
            size=pc.sum(sizes).as_py() or 0,
        )

    def grown(self, sizes: Sequence[int]) -> "VersionChecksum":
        """Return the checksum of the next version, which only adds files of these sizes in bytes."""
        return replace(self, files=self.files + len(sizes), size=self.size + sum(sizes))

    def write(self, where: Path, version: int) -> None:
        """Write the checksum file of a version, whose entry must exist; remove that of an old version."""
        content = {
            "tableSizeBytes": self.size,
            "numFiles": self.files,
            "numMetadata": 1,
            "numProtocol": 1,
            "metadata": self.metadata,
            "protocol": self.protocol,
        }
        _file(where, version).write_text(json.dumps(content, separators=(",", ":")))
        _file(where, version - KEPT).unlink(missing_ok=True)


def _file(where: Path, version: int) -> Path:
    return where / "_delta_log" / f"{version:020}.crc"
