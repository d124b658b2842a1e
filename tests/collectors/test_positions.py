import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from collectors.log_files.positions import (
    REMEMBERED_FILES,
    FileProgress,
    InFlight,
    PositionFileError,
    forget,
    load_positions,
    save_positions,
)


@given(st.permutations(range(8)))
def test_safe_never_passes_a_record_that_is_not_acknowledged(order):
    """Partitions answer in any order; what is safe is the first gap and nothing behind it."""
    flight = InFlight({}, failed=lambda _: None)
    receipts = [flight.expect("a", 10 * (number + 1)) for number in range(8)]
    acked: set[int] = set()
    for number in order:
        receipts[number](None, None)
        acked.add(number)
        first_gap = next((n for n in range(8) if n not in acked), 8)
        assert flight.safe.get("a", FileProgress(0)).offset == 10 * first_gap
    assert len(flight) == 0
    assert flight.acked_records == 8


def test_a_file_is_finished_when_its_last_line_is_safe():
    flight = InFlight({}, failed=lambda _: None)
    receipt = flight.expect("a", 10)
    flight.finish("a", 10)
    assert flight.safe == {}

    receipt(None, None)

    assert flight.safe == {"a": FileProgress(10, is_finished=True)}


def test_a_failed_delivery_keeps_everything_behind_it_unsafe():
    failures = []
    flight = InFlight({}, failed=failures.append)
    first, second = flight.expect("a", 10), flight.expect("a", 20)
    second(None, None)
    first(KafkaError(KafkaError._MSG_TIMED_OUT), None)

    assert flight.safe == {}
    assert [error.code() for error in failures] == [KafkaError._MSG_TIMED_OUT]


def test_positions_survive_the_file(tmp_path):
    logs = {"request-log broker-1 /x": {"a": FileProgress(10, is_finished=True), "b": FileProgress(7)}}
    save_positions(tmp_path / "positions.json", logs)

    assert load_positions(tmp_path / "positions.json") == logs
    assert [path.name for path in tmp_path.iterdir()] == ["positions.json"]
    assert load_positions(tmp_path / "none.json") == {}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"logs": {"a": {"b": {}}}}', '{"logs": 3}'])
def test_positions_that_cannot_be_read_are_an_error_and_not_a_new_start(tmp_path, content):
    (tmp_path / "positions.json").write_text(content)

    with pytest.raises(PositionFileError, match=r"positions.json: .* or delete it to send"):
        load_positions(tmp_path / "positions.json")


def test_only_finished_files_that_are_gone_are_forgotten_and_the_oldest_first():
    rows = {f"{n}": FileProgress(1, is_finished=n != 0) for n in range(REMEMBERED_FILES + 4)}
    forget(rows, present={"1"})

    assert list(rows)[:4] == ["0", "1", "4", "5"]
