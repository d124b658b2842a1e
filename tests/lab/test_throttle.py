import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.throttle import facts, rates, sizes, tool
from lab.throttle.facts import PartRecord
from lab.throttle.parts import BY_NAME, PARTS, PartKind, ThrottlePart, parts_by_name
from lab.throttle.sizes import DiskSizes, bytes_on_disk
from lab.truth import NS_PER_S, iso

IDS = [1, 2, 3]
MB = 1_000_000


def record(name, **at_s):
    part = BY_NAME[name]
    told = PartRecord(part, f"t-{name}", part.placements(IDS))
    told.at_ns = {name: at * NS_PER_S for name, at in at_s.items()}
    return told


def test_a_round_is_the_three_moves_with_and_without_load_and_every_fault():
    """The plan of KIP-73's own test, and the throttles that go wrong; together at most 15 minutes."""
    names = [part.name for part in PARTS]

    assert names[:6] == ["a", "a_load", "b", "b_load", "c", "c_load"]
    assert set(names[6:]) == {"ineffective", "stuck", "left_over", "tiny", "in_sync"}
    assert sum(part.expected_s for part in PARTS) < 15 * 60


@pytest.mark.parametrize(
    ("name", "leaders", "followers"),
    [("a", [1, 1], [2, 2]), ("b", [1, 1], [2, 3]), ("c", [1, 2], [3, 3])],
)
def test_each_shape_has_its_brokers(name, leaders, followers):
    placements = BY_NAME[name].placements(IDS)

    assert [before for before, _ in placements] == [[leader] for leader in leaders]
    assert [after for _, after in placements] == [[follower] for follower in followers]


def test_a_part_without_a_move_keeps_its_replicas():
    assert BY_NAME["in_sync"].placements(IDS) == [([1, 2], [1, 2])] * 2


def test_two_brokers_are_too_few():
    with pytest.raises(LabError, match="three brokers, this lab has 2"):
        BY_NAME["b"].placements([1, 2])


def test_a_part_that_is_not_there_is_told_with_those_that_are():
    assert parts_by_name(["tiny", "a"]) == (BY_NAME["tiny"], BY_NAME["a"])
    assert parts_by_name([]) == PARTS
    with pytest.raises(LabError, match=r"no part b_laod: the parts are a, a_load.* restart"):
        parts_by_name(["a", "b_laod"])


@pytest.mark.parametrize("part", [part for part in PARTS if part.state == "compliant"], ids=lambda p: p.name)
def test_bursts_of_a_compliant_move_stay_below_5_percent_of_what_a_window_holds(part: ThrottlePart):
    """A fetch is checked before it is served: it goes over by partitions x replica.fetch.max.bytes."""
    burst_bytes = part.partitions * 1024 * 1024

    assert burst_bytes < 0.05 * rates.WINDOW_S * part.limit_bytes_per_s


@pytest.mark.parametrize("part", [part for part in PARTS if part.kind is PartKind.MOVE], ids=lambda p: p.name)
def test_a_move_has_three_full_windows_behind_the_first(part: ThrottlePart):
    """Of at most 12 s each, and the last that is none."""
    assert 4 * (rates.WINDOW_S + 1) < part.move_s <= 60


def test_the_stuck_part_is_given_more_than_it_may_take():
    assert BY_NAME["stuck"].produce_bytes_per_s > BY_NAME["stuck"].limit_bytes_per_s


def test_a_tool_line_is_known_by_its_beginning():
    said = [
        tool.OutputLine(1, "Current partition replica assignment"),
        tool.OutputLine(2, f"{tool.LIMIT_IS_SET} to 5 B/s"),
    ]

    assert tool.first_at(said, tool.LIMIT_IS_SET) == 2
    assert tool.first_at(said, tool.IS_BEGUN) is None


def test_lines_of_a_program_come_with_the_instant_they_were_printed():
    said = tool.timestamped_lines(["sh", "-c", "echo first; sleep 0.3; echo second"])

    assert [line.text for line in said] == ["first", "second"]
    assert 0.2 < (said[1].at_ns - said[0].at_ns) / NS_PER_S < 5


def test_a_tool_that_fails_is_quoted():
    with pytest.raises(LabError, match=r"exit code 3:\nno such topic"):
        tool.timestamped_lines(["sh", "-c", "echo no such topic; exit 3"])


def test_the_tools_document_has_a_line_for_each_partition():
    assert tool.reassignment_document("t", [[2], [3]]) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [2]},
            {"topic": "t", "partition": 1, "replicas": [3]},
        ],
    }


def steady(rate, since_s, until_s, step_s=1):
    """Bytes that grow at a rate from `since_s` to `until_s`, looked at from 0 to 60 s."""
    return [
        (at * NS_PER_S, int(rate * (min(max(at, since_s), until_s) - since_s))) for at in range(0, 61, step_s)
    ]


def test_a_steady_move_has_one_rate_in_every_window():
    told = rates.summary(steady(8 * MB, 5, 45))

    assert told["began_at"] == iso(5 * NS_PER_S)
    assert told["ended_at"] == iso(45 * NS_PER_S)
    assert told["bytes"] == 320 * MB
    assert told.pop("full_windows_bytes_per_s") == [8.0 * MB] * 3
    assert {value for name, value in told.items() if name.endswith("per_s")} == {8.0 * MB}


def test_a_first_burst_is_in_the_first_window_alone():
    """Eleven seconds' worth at once, then silence until the window is over, then the limit."""
    curve = [(at * NS_PER_S, 0 if at < 1 else 88 * MB + 8 * MB * max(0, at - 11)) for at in range(46)]
    told = rates.summary(curve)

    assert told["second_window_bytes_per_s"] == 8 * MB
    assert told["after_first_window_bytes_per_s"] == 8 * MB
    assert told["first_window_bytes_per_s"] == 8 * MB
    assert told["best_window_bytes_per_s"] >= 8 * MB


def test_bursts_of_twelve_seconds_worth_keep_to_the_limit_that_11_s_do_not():
    """A broker looks back over up to 12 s and lets all through at once: the mean over periods is right."""
    curve = [(at * NS_PER_S, 12 * 8 * MB * (1 + at // 12)) for at in range(60)]
    told = rates.summary([(-NS_PER_S, 0), *curve])

    assert told["full_windows_bytes_per_s"] == [8.0 * MB] * 4
    assert told["after_first_window_bytes_per_s"] == 8 * MB
    assert told["best_window_bytes_per_s"] == pytest.approx(8 * MB * 12 / 11, rel=1e-6)


def test_a_move_shorter_than_a_window_has_no_rate_of_one():
    told = rates.summary(steady(100 * MB, 10, 13))

    assert told["mean_bytes_per_s"] == 100 * MB
    assert told["first_window_bytes_per_s"] is None
    assert told["second_window_bytes_per_s"] is None
    assert told["after_first_window_bytes_per_s"] is None
    assert told["best_window_bytes_per_s"] is None
    assert told["full_windows_bytes_per_s"] == []


@pytest.mark.parametrize("curve", [[], [(0, 5)], [(0, 5), (NS_PER_S, 5)]])
def test_nothing_that_grows_has_no_summary(curve):
    assert rates.summary(curve) is None


@given(st.lists(st.integers(0, 10 * MB), min_size=2, max_size=80), st.floats(-5, 100))
def test_bytes_between_two_looks_lie_between_theirs(steps, at_s):
    total, curve = 0, []
    for at, step in enumerate(steps):
        total += step
        curve.append((at * NS_PER_S, total))

    assert curve[0][1] <= rates.bytes_at(curve, at_s * NS_PER_S) <= curve[-1][1]


def test_a_side_that_carries_nothing_is_expected_to_be_nothing():
    """The tool sets both rates on every broker; a list names the leader here and the follower there."""
    told = facts.states(record("a", limit_set=10, done=50, cleared=55))
    found = {(row["broker_id"], row["direction"]): (row["state"], row["is_listed"]) for row in told}

    assert found == {
        (1, "leader"): ("compliant", True),
        (1, "follower"): (None, False),
        (2, "leader"): (None, False),
        (2, "follower"): ("compliant", True),
    }


def test_a_throttle_that_is_left_is_compliant_first_and_left_over_then():
    told = facts.states(record("left_over", limit_set=10, done=50, cleared=80))
    leader = [row for row in told if (row["broker_id"], row["direction"]) == (1, "leader")]

    assert [(row["state"], row["since"], row["until"]) for row in leader] == [
        ("compliant", iso(10 * NS_PER_S), iso(50 * NS_PER_S)),
        ("left_over", iso(50 * NS_PER_S), iso(80 * NS_PER_S)),
    ]


@pytest.mark.parametrize(
    ("name", "state", "cause", "is_listed"),
    [
        ("ineffective", "ineffective", None, False),
        ("stuck", "stuck", None, True),
        ("tiny", "over_limit", "tiny_quota", True),
        ("in_sync", "over_limit", "in_sync_traffic", True),
    ],
)
def test_each_fault_is_expected_by_its_name(name, state, cause, is_listed):
    told = facts.states(record(name, limit_set=10, cancel_asked=50, cleared=55))
    carrying = [row for row in told if row["state"]]

    assert {(row["broker_id"], row["direction"]) for row in carrying} == {(1, "leader"), (2, "follower")}
    assert {(row["state"], row["cause"], row["is_listed"]) for row in carrying} == {(state, cause, is_listed)}


def test_a_list_of_all_names_the_sides_that_carry_nothing_too():
    told = facts.states(record("in_sync", limit_set=10, cleared=55))

    assert [(row["state"] is None, row["is_listed"]) for row in told] == [
        (False, True),
        (True, True),
        (True, True),
        (False, True),
    ]


def test_a_leaders_rate_is_that_of_both_its_followers():
    """From the limit to the move's end: before and after it bytes come that no throttle holds."""
    going = record("b", limit_set=5, done=45, cleared=50)
    seen = [
        DiskSizes(at * NS_PER_S, {(2, 0): 4 * MB * at, (3, 1): 2 * MB * at, (1, 0): 160 * MB})
        for at in range(5, 46)
    ]
    seen.insert(0, DiskSizes(0, dict.fromkeys(seen[0].sizes, 0)))
    seen.append(DiskSizes(46 * NS_PER_S, dict.fromkeys(seen[0].sizes, 900 * MB)))
    found = {
        (row["broker_id"], row["direction"]): row["measured"]["mean_bytes_per_s"]
        for row in facts.on_disk(going, seen)
    }

    assert found == {(1, "leader"): 6 * MB, (2, "follower"): 4 * MB, (3, "follower"): 2 * MB}


def test_a_first_burst_that_passed_before_the_first_look_behind_the_limit_is_in_the_truth():
    """Limit at 10 s, 66 MB at once at 10.1 s, the next look at 10.4 s."""
    looks = [(9.9, 0), (10.4, 66), *((10.4 + at, 66 + max(0, at - 11) * 6) for at in range(1, 40))]
    seen = [DiskSizes(int(at * NS_PER_S), {(2, 0): int(of * MB), (2, 1): 0}) for at, of in looks]
    going = record("a", limit_set=10, done=50, cleared=55)
    told = {row["direction"]: row["measured"] for row in facts.on_disk(going, seen)}

    assert told["follower"]["began_at"] == iso(int(9.9 * NS_PER_S))
    assert told["follower"]["first_window_bytes_per_s"] == pytest.approx(6 * MB, rel=0.01)


def test_the_truth_is_json_and_names_every_instant():
    told = json.loads(json.dumps(facts.ground_truth(record("a", limit_set=10, done=50, cleared=55), [])))

    assert told["done_at"] == iso(50 * NS_PER_S)
    assert told["cancel_asked_at"] is None
    assert {f"{name}_at" for name in facts.INSTANTS} <= set(told)
    assert (told["leaders"], told["followers"]) == ([1], [2])


def test_bytes_on_disk_are_those_of_the_segments_alone(tmp_path):
    """An index is preallocated, 10 MB of nothing."""
    (tmp_path / "00000000000000000000.log").write_bytes(b"x" * 70)
    (tmp_path / "00000000000000000900.log").write_bytes(b"x" * 7)
    (tmp_path / "00000000000000000900.index").write_bytes(b"x" * 1000)

    assert bytes_on_disk(tmp_path) == 77
    assert bytes_on_disk(tmp_path / "not there") == 0


def test_sizes_are_looked_at_twice_a_second_and_kept(laid_out, tmp_path):
    folder = sizes.folder_of(laid_out, "t", (2, 0))
    folder.mkdir(parents=True)
    with sizes.SizeWatcher(laid_out, "t", "a", [(2, 0)], tmp_path / "sizes.jsonl") as watcher:
        (folder / "00000000000000000000.log").write_bytes(b"x" * 70)
        while len(watcher.samples) < 3:
            pass
    lines = [json.loads(line) for line in (tmp_path / "sizes.jsonl").read_text().splitlines()]

    assert lines[-1]["replicas"] == [{"broker_id": 2, "partition": 0, "bytes": 70}]
    assert (lines[-1]["part"], lines[-1]["topic"]) == ("a", "t")
    assert 0.3 < (watcher.samples[2].at_ns - watcher.samples[1].at_ns) / NS_PER_S < 2
