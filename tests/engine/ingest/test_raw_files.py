"""Files on disk as rows of bronze."""

import gzip
import tracemalloc
from dataclasses import replace
from pathlib import Path

from collectors.files import discover
from collectors.log_files.lines import RawLine, fingerprint
from conf.names import Kind
from conf.settings import Settings
from engine.ingest import raw_files
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, cut_off, write_raw
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.records import COMPLETED, HEAD

MIB = 1024 * 1024


def written(folder: Path, scratch: Path):
    origin = Origin(folder=folder, cluster="east", time_zone="Europe/Berlin")
    return write_raw(discover(folder).understood, origin, scratch / "raw", on_file=lambda _file: None)


def rows_of(scratch: Path):
    rows = raw_lines(scratch / "raw", [Kind.REQUEST_LOG]).to_table().to_pylist()
    return sorted(rows, key=lambda row: (row["source"], len(row["position"]), row["position"]))


def log(folder: Path, content: bytes, name: str = "broker-1/kafka-request.log") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_every_byte_of_every_line_arrives_with_its_position(tmp_path):
    """Bytes that are not UTF-8, carriage returns and blank lines are kept too."""
    log(tmp_path / "logs", b"first\r\n\x00\xff\xfe\n\nlast without newline")

    (read,) = written(tmp_path / "logs", tmp_path)
    rows = rows_of(tmp_path)

    mark = fingerprint(b"first\r")
    assert [(bytes(row["value"]), row["position"]) for row in rows] == [
        (b"first\r", f"broker-1/{mark}/0"),
        (b"\x00\xff\xfe", f"broker-1/{mark}/7"),
        (b"", f"broker-1/{mark}/11"),
        (b"last without newline", f"broker-1/{mark}/12"),
    ]
    assert {(row["cluster"], row["node"], row["kind"], row["time_zone"], row["source"]) for row in rows} == {
        ("east", "broker-1", "request-log", "Europe/Berlin", "broker-1/kafka-request.log")
    }
    assert (read.lines, read.damage) == (4, None)


def test_files_that_begin_with_the_same_header_have_different_positions_and_a_copy_has_the_same(tmp_path):
    """Lines with the same position count as one line that was sent again."""
    header = b"# request log\n# broker 1\n"
    for name, line in (("kafka-request.log", b"one\n"), ("kafka-request.log.1", b"two\n")):
        log(tmp_path / "logs", header + line, f"broker-1/{name}")
    log(tmp_path / "logs", gzip.compress(header + b"two\n"), "broker-1/kafka-request.log.1.gz")
    log(tmp_path / "logs", header + b"one\n", "broker-2/kafka-request.log")

    written(tmp_path / "logs", tmp_path)

    positions = [row["position"] for row in rows_of(tmp_path)]
    assert len(positions) == 12
    assert len(set(positions)) == 9


def test_a_torn_gzip_keeps_its_lines_and_records_where_it_ends(tmp_path):
    lines = b"".join(b"%06d %s\n" % (nth, b"x" * (nth % 90)) for nth in range(2000))
    packed = gzip.compress(lines, mtime=0)
    log(tmp_path / "logs", packed[: len(packed) // 2], "broker-1/kafka-request.log.gz")

    (read,) = written(tmp_path / "logs", tmp_path)
    rows = rows_of(tmp_path)

    values = [bytes(row["value"]) for row in rows if row["value"] is not None]
    damage = [row["position"] for row in rows if row["value"] is None]
    assert lines.startswith(b"\n".join(values))
    assert len(values) > 500
    assert len(damage) == 1
    assert damage[0].endswith("/damage")
    assert read.lines == len(values) + 1
    assert read.damage


def test_a_line_longer_than_the_limit_is_cut_and_its_length_recorded(tmp_path, monkeypatch):
    """A gzip of 64 KB has one line of 64 MB: memory stays small, and the other lines stay."""
    monkeypatch.setattr(raw_files, "LINE_BYTES", MIB)
    path = log(tmp_path / "logs", b"", "broker-1/kafka-request.log.gz")
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(COMPLETED + b"\n" + HEAD)
        for _ in range(64):
            out.write(b"x" * MIB)
        out.write(b"\n" + COMPLETED + b"\n")

    tracemalloc.start()
    (read,) = written(tmp_path / "logs", tmp_path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    silver, _ = parse_files(raw_lines(tmp_path / "raw"), tmp_path / "silver", Settings())
    (line,) = silver[QUARANTINE].to_table().to_pylist()
    kept = silver[REQUESTS].to_table()["position"].to_pylist()
    around = [row["value"] for row in rows_of(tmp_path) if row["position"] in kept]
    length_bytes = 64 * MIB + len(HEAD)
    assert line["reason"] == "oversized"
    assert line["detail"] == f"part 1/65 of {length_bytes} bytes"
    assert line["value"] == (HEAD + b"x" * MIB)[:MIB]
    assert line["position"].endswith(f"/{len(COMPLETED) + 1}")
    assert around == [COMPLETED] * 2
    assert silver[SKIPPED].count_rows() == 0
    assert (read.lines, read.value_bytes, read.damage) == (3, MIB + 2 * len(COMPLETED), None)
    assert peak_bytes < 8 * MIB


def test_the_first_part_of_a_long_line_stays_and_has_its_length():
    line = RawLine(b"abcd", "broker-1", "a.log", "p/0", "request-log", "1/?")
    rest = replace(line, value=b"ef", chunk="2/2", end_offset=6)

    assert list(cut_off(iter([line, rest]))) == [replace(line, chunk="1/2 of 6 bytes", end_offset=6)]


def test_an_empty_file_has_no_rows_and_no_error(tmp_path):
    log(tmp_path / "logs", b"")

    (read,) = written(tmp_path / "logs", tmp_path)

    assert (read.lines, rows_of(tmp_path)) == (0, [])


def test_row_groups_are_cut_by_bytes_so_memory_stays_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_files, "GROUP_BYTES", 1000)
    log(tmp_path / "logs", b"".join(b"%099d\n" % nth for nth in range(100)))

    written(tmp_path / "logs", tmp_path)

    (path,) = (tmp_path / "raw" / "request-log").iterdir()
    parquet = raw_files.pq.ParquetFile(path)
    groups = [parquet.metadata.row_group(nth).num_rows for nth in range(parquet.num_row_groups)]
    assert sum(groups) == 100
    assert max(groups) <= 11


def test_two_files_of_one_name_stay_two_sources(tmp_path):
    log(tmp_path / "logs", b"one\n", "broker-1/kafka-request.log")
    log(tmp_path / "logs", b"two\n", "broker-2/kafka-request.log")

    written(tmp_path / "logs", tmp_path)

    assert [row["source"] for row in rows_of(tmp_path)] == [
        "broker-1/kafka-request.log",
        "broker-2/kafka-request.log",
    ]
