"""The judgement of a demo's findings."""

from datetime import timedelta

import pytest

from benchmarks.truth.judge import demo_result
from tests.serving.report.gold_rows import NAMELESS, NO_CULPRIT, at

LINK = {**NAMELESS, "culprit": "link", "follower_id": 3, "leader_id": 1}
OTHER = {**LINK, "leader_id": 2}
TRUTH = {
    "shape": "link", "broker_id": None, "follower_id": 3, "leader_id": 1,
    "injected_at": at(3) + timedelta(seconds=3), "ended_at": at(9) + timedelta(seconds=3),
}  # fmt: skip
RIGHT = [NO_CULPRIT] * 3 + [LINK] * 6 + [NO_CULPRIT] * 2


def result(verdicts):
    of_window = {"effect_ms": 10.0, "evidence": 20.0}
    rows = [
        {**verdict, "window_start": at(n), "since": at(3), **(of_window if verdict is not NO_CULPRIT else {})}
        for n, verdict in enumerate(verdicts)
    ]
    return demo_result(TRUTH, rows)


def test_one_finding_of_the_injected_link_and_span_is_right():
    found = result(RIGHT)

    assert found.is_right
    assert (found.findings, found.outside, found.onset_s) == (1, 0, -3.0)


@pytest.mark.parametrize(
    "verdicts",
    [
        [NO_CULPRIT] * 11,
        [OTHER, *RIGHT[1:]],
        [OTHER if row is LINK else row for row in RIGHT],
        [NO_CULPRIT] * 3 + [LINK] * 3 + [NO_CULPRIT] * 5,
        [NO_CULPRIT] + [LINK] * 8 + [NO_CULPRIT] * 2,
    ],
    ids=["nothing", "a second finding", "another link", "too short", "before the injection"],
)
def test_anything_else_is_wrong(verdicts):
    assert not result(verdicts).is_right
