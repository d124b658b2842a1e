import gzip
import hashlib
import os
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.log_files.lines import BLOCK_BYTES, DamagedFileError, LineSplitter, read_lines


def read(path, **options):
    return list(read_lines(path, "broker-1", "request-log", **options))


def mark_of(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:16]


def test_a_position_is_node_fingerprint_of_the_first_line_and_offset_of_the_line(tmp_path):
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"first\nsecond\r\n\nlast without newline")

    mark = mark_of(b"first")
    assert [(line.value, line.position, line.end_offset) for line in read(path)] == [
        (b"first", f"broker-1/{mark}/0", 6),
        (b"second\r", f"broker-1/{mark}/6", 14),  # a CR is a byte of the line
        (b"", f"broker-1/{mark}/14", 15),
        (b"last without newline", f"broker-1/{mark}/15", 35),
    ]


def test_gzip_changes_no_position(tmp_path):
    content = b"".join(b"line %d of many\n" % number for number in range(50_000))
    (tmp_path / "a.log").write_bytes(content)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(content[:400_000]) + gzip.compress(content[400_000:]))

    plain, packed = (
        [(line.value, line.position) for line in read(tmp_path / name)] for name in ("a.log", "a.log.gz")
    )
    assert plain == packed


def test_reading_starts_at_the_offset_and_keeps_the_fingerprint(tmp_path):
    for name, pack in (("a.log", bytes), ("a.log.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(b"first\nsecond\nthird\n"))

        lines = read(tmp_path / name, start_offset=6)

        assert [line.position for line in lines] == [f"broker-1/{mark_of(b'first')}/{at}" for at in (6, 13)]


def test_a_first_line_without_end_counts_by_its_first_64_kib(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 70_000 + b"\ny\n")

    assert {line.position.split("/")[1] for line in read(path)} == {mark_of(b"x" * 65_536)}


def test_an_empty_file_has_no_lines(tmp_path):
    for name in ("a.log", "a.log.gz"):
        (tmp_path / name).touch()
        assert read(tmp_path / name) == []


@pytest.mark.parametrize("kept", [1.0, 0.999, 0.5])
def test_a_torn_gzip_gives_every_line_before_the_tear_and_then_its_offset(tmp_path, kept):
    content = b"".join(b"%d %s\n" % (number, os.urandom(20).hex().encode()) for number in range(20_000))
    packed = gzip.compress(content)
    path = tmp_path / "kafka-request.log.gz"
    path.write_bytes(packed[: int(len(packed) * kept) - 1])  # the last byte belongs to gzip's own trailer

    values = []
    with pytest.raises(DamagedFileError, match=r"kafka-request.log.gz: the gzip stream ends") as damage:
        values.extend(line.value for line in read_lines(path, "broker-1", "request-log"))

    readable = zlib.decompressobj(wbits=31).decompress(path.read_bytes())
    assert len(readable) > len(content) * (kept - 0.02)
    assert values == readable.splitlines()
    assert damage.value.position == f"broker-1/{mark_of(values[0])}/{len(readable)}"


def test_a_corrupt_gzip_loses_no_line_before_the_damage(tmp_path):
    content = b"".join(b"%d %s\n" % (number, os.urandom(20).hex().encode()) for number in range(20_000))
    packed = bytearray(gzip.compress(content))
    packed[-8] ^= 0xFF  # the checksum: all bytes can still be read
    (tmp_path / "a.log.gz").write_bytes(packed)

    values = []
    with pytest.raises(DamagedFileError, match="incorrect data check"):
        values.extend(line.value for line in read_lines(tmp_path / "a.log.gz", "broker-1", "request-log"))

    assert b"\n".join(values) + b"\n" == content


def test_a_file_that_is_no_gzip_and_one_that_cannot_be_opened_are_clear_errors(tmp_path):
    (tmp_path / "a.log.gz").write_bytes(b"plain text\n")

    with pytest.raises(DamagedFileError, match="incorrect header check"):
        read(tmp_path / "a.log.gz")
    with pytest.raises(DamagedFileError, match="No such file"):
        read(tmp_path / "gone.log")


def test_an_oversized_line_comes_in_chunks_that_share_its_position(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"first\n" + b"x" * 25 + b"\n" + b"y" * 20 + b"\nlast\n")

    lines = read(path, chunk_bytes=10)

    mark = mark_of(b"first")
    assert [(line.value, line.position.rpartition("/")[2], line.chunk) for line in lines] == [
        (b"first", "0", None),
        (b"x" * 10, "6", "1/?"),
        (b"x" * 10, "6", "2/?"),
        (b"x" * 5, "6", "3/3"),
        (b"y" * 10, "32", "1/?"),
        (b"y" * 10, "32", "2/2"),  # exactly two chunks: no empty third one
        (b"last", "53", None),
    ]
    assert {line.position.split("/")[1] for line in lines} == {mark}


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=30),
    cuts=st.lists(st.integers(0, 900), max_size=8),
    tail=st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")),
)
def test_the_pieces_of_any_blocks_are_the_lines_of_the_whole(lines, cuts, tail):
    content = b"".join(line + b"\n" for line in lines) + tail
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    splitter = LineSplitter(0, chunk_bytes=7)
    pieces = [p for start, end in pairwise(edges) for p in splitter.feed(content[start:end])]
    pieces += splitter.flush()

    by_line: dict[int, bytes] = {}
    for value, offset, _, _ in pieces:
        by_line[offset] = by_line.get(offset, b"") + value
    offsets = [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines) + bool(tail))]
    assert by_line == dict(zip(offsets, [*lines, tail], strict=False))
    assert all(len(value) <= 7 for value, *_ in pieces)
    assert splitter.read_offset == len(content)


def test_memory_is_bounded_by_the_chunk_and_not_by_the_line(tmp_path):
    path = tmp_path / "a.log"
    with path.open("wb") as out:
        out.truncate(200 * BLOCK_BYTES)  # 50 MiB of NUL without a newline

    sizes = [len(line.value) for line in read_lines(path, "broker-1", "request-log", chunk_bytes=BLOCK_BYTES)]

    assert sizes == [BLOCK_BYTES] * 200
