"""The records of a quiet cluster, and their pace."""

import gzip
from collections import Counter

import pytest

from benchmarks.pipeline.arms import quiet, quiet_lines, scrapes
from benchmarks.pipeline.arms.quiet_lines import QuietPage, Recording
from benchmarks.pipeline.arms.scale import SHORT
from conf.names import Kind
from transforms.parse import cluster_polls
from transforms.parse.record import Kept, Record

LINE = b"2026-11-21T08:40:46.122384288Z 607123518419 DEBUG said (logger)"


@pytest.fixture
def recording():
    lines = {kind: [("broker-1", LINE), ("broker-2", LINE)] for kind in quiet_lines.FILES}
    pages = [
        QuietPage(f"broker-{node}", turn * 10, b"up %d" % turn) for turn in range(2) for node in (1, 2, 3)
    ]
    return Recording(lines, pages)


def test_every_kind_comes_at_its_pace():
    sent = list(quiet_lines.due(60.0))

    assert Counter(kind for _, kind, _ in sent) == {
        Kind.REQUEST_LOG: 2_400,
        Kind.CLIENT_LOG: 900,
        Kind.STATE_CHANGE: 300,
        Kind.METRICS: 6,
        Kind.CLUSTER: 2,
    }
    assert [at_s for at_s, _, _ in sent] == sorted(at_s for at_s, _, _ in sent)


def test_a_line_has_the_current_time(recording):
    (first,), (second,) = (quiet.records(recording, Kind.CLIENT_LOG, nth) for nth in range(2))

    assert first.value.partition(b" ")[2] == LINE.partition(b" ")[2]
    assert not first.value.startswith(b"2026-11-21T08:40:46.122384288Z")
    assert (first.node, second.node) == ("broker-1", "broker-2")


def test_a_line_that_is_sent_again_has_another_position(recording):
    """Gold removes lines with the same position as duplicates, and each stage begins with line 0."""
    (first,), (again,) = (quiet.records(recording, Kind.CLIENT_LOG, 0) for _ in range(2))

    assert first.position != again.position


def test_a_scrape_is_one_page_of_every_broker(recording):
    pages = quiet.records(recording, Kind.METRICS, 3)

    assert [(page.node, page.value) for page in pages] == [(f"broker-{node}", b"up 1") for node in (1, 2, 3)]


def test_a_cluster_poll_is_a_document_that_the_ingest_parses(recording):
    (poll,) = quiet.records(recording, Kind.CLUSTER, 0)

    outcome = cluster_polls.parse(
        Record(poll.value, cluster="lab", node=poll.node, kind=poll.kind, position=poll.position)
    )

    assert isinstance(outcome, Kept)


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a recording: a quiet line of each kind, then two lines of moves 0.5 s apart."""
    later = [LINE.replace(b"08:40:46.1", b"08:41:%02d.1" % second) for second in (1, 3)]
    for name in quiet_lines.FILES.values():
        log = tmp_path / "logs" / "broker-1" / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"\n".join([LINE, b"\tat java.lang.Thread.run", *later, b""]))
    page = tmp_path / "pages" / "broker-1" / "17.prom.gz"
    page.parent.mkdir(parents=True)
    page.write_bytes(gzip.compress(b"up 1\n"))
    (tmp_path / quiet_lines.MOVED_FROM).write_bytes(b"2026-11-21T08:41:00.000000000Z")
    return tmp_path


def test_a_recording_is_read_back_without_continuation_lines_and_without_the_moves(folder):
    read, moves = quiet_lines.read(folder)

    assert set(map(tuple, read.lines.values())) == {(("broker-1", LINE),)}
    assert read.pages == moves.pages == [QuietPage("broker-1", 17, b"up 1\n")]
    assert [len(lines) for lines in moves.lines.values()] == [2, 2, 2]


def test_the_error_for_a_recording_without_lines_names_the_folder_to_remove(folder):
    (folder / "logs" / "broker-1" / quiet_lines.FILES[Kind.STATE_CHANGE]).unlink()

    with pytest.raises(FileNotFoundError, match="record again"):
        quiet_lines.read(folder)


def test_the_lines_of_the_moves_come_as_they_were_written_with_scrapes_and_no_poll(folder):
    moves = quiet_lines.stages(folder, SHORT, with_gold=True)[-1]

    assert (moves.name, moves.seconds) == (quiet_lines.MOVES, 2.0)
    assert [(at_s, kind) for at_s, kind, _ in moves.due] == [
        *((0.0, kind) for kind in (Kind.CLIENT_LOG, Kind.METRICS, Kind.REQUEST_LOG, Kind.STATE_CHANGE)),
        *((2.0, kind) for kind in (Kind.CLIENT_LOG, Kind.REQUEST_LOG, Kind.STATE_CHANGE)),
    ]


def test_the_stage_of_lines_alone_has_no_scrape_before_its_end(folder):
    run = quiet_lines.stages(folder, SHORT, with_gold=True)
    before = run[: [stage.name for stage in run].index(quiet_lines.LINES) + 1]

    assert {kind for stage in before for _, kind, _ in stage.due} == set(quiet_lines.FILES)


def test_without_gold_there_is_only_the_quiet_cluster_after_it_has_settled(folder):
    run = quiet_lines.stages(folder, SHORT, with_gold=False)

    assert [stage.name for stage in run] == ["settle", quiet_lines.QUIET]
    assert quiet_lines.spans(run, 1_000.0) == {
        "settle": (1_000.0, 1_000.0 + SHORT.quiet_settle_s),
        quiet_lines.QUIET: (1_000.0 + SHORT.quiet_settle_s, 1_000.0 + SHORT.quiet_settle_s + SHORT.quiet_s),
    }


def test_repeated_pages_are_later_by_the_length_of_the_recording():
    pages = [QuietPage("broker-1", 0, b"a"), QuietPage("broker-1", 10_000_000_000, b"b")]

    assert [page.at_ns // 10**9 for page in scrapes.repeated(pages, 5)] == [0, 10, 20, 30, 40]
