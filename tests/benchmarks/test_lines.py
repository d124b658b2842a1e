"""The lines that benchmarks publish: each with its own node, in timestamp order."""

from datetime import UTC, datetime

from benchmarks.pipeline.arms import lines


def test_each_line_keeps_its_node_and_all_lines_are_in_timestamp_order(tmp_path):
    for node, seconds in (("broker-1", (0, 3)), ("broker-2", (1, 2))):
        (tmp_path / node).mkdir()
        text = "".join(f"2026-11-21T11:27:0{second}.000Z {node}\n" for second in seconds)
        (tmp_path / node / "kafka-request.log").write_text(text)

    read = lines.in_order(tmp_path)

    assert [node for node, _ in read] == ["broker-1", "broker-2", "broker-2", "broker-1"]
    assert all(line.endswith(node.encode()) for node, line in read)


def test_a_repeated_line_is_later_by_the_length_of_the_recording():
    read = [("broker-1", b"2026-11-21T11:27:00.5Z a"), ("broker-2", b"2026-11-21T11:27:09.5Z b")]

    assert list(lines.repeated(read, 3)) == [*read, ("broker-1", b"2026-11-21T11:27:10.5Z a")]


def test_the_lines_of_a_span_have_the_instants_of_a_steady_pace():
    read = [("broker-1", b"2026-11-21T11:27:00.5Z a"), ("broker-2", b"2026-11-21T11:27:09.5Z b")]

    assert list(lines.of_span(read, 2.0, 3, datetime(2026, 11, 26, 23, 59, 59, tzinfo=UTC))) == [
        ("broker-1", b"2026-11-26T23:59:59.000000000Z a"),
        ("broker-2", b"2026-11-26T23:59:59.500000000Z b"),
        ("broker-1", b"2026-11-27T00:00:00.000000000Z a"),
    ]


def test_a_cut_line_is_no_request():
    whole, cut = (
        f"2026-11-21T11:27:00.5Z 1 DEBUG Completed request:{json} (logger)".encode()
        for json in ('{"totalTimeMs":1}', '{"totalT')
    )
    read = [("broker-1", whole), ("broker-1", cut)]

    assert lines.requests_in(read, 5) == 3


def test_a_paced_line_has_the_current_time_and_no_line_is_left_out(monkeypatch):
    monkeypatch.setattr(lines, "stamp", lambda: b"2026-11-22T00:00:00.000000000Z")
    monkeypatch.setattr(lines, "TICK_S", 0.001)
    read = [("broker-1", b"2026-11-21T11:27:00.5Z a"), ("broker-2", b"2026-11-21T11:27:09.5Z b")]

    paced = list(lines.at_rate(read, 1_000.0, 0.025))

    assert len(paced) == 25
    assert paced[:2] == [
        ("broker-1", b"2026-11-22T00:00:00.000000000Z a"),
        ("broker-2", b"2026-11-22T00:00:00.000000000Z b"),
    ]
    assert paced[24] == paced[0]
