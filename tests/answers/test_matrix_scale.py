"""The colours of the matrix: equal pairs are pale, and the scale of a change has 0 in its middle."""

import pytest

from answers.slow_links.matrix import change_scale_ms, matrices, scale_ms


def matrix(*ms, column="rtt_ms"):
    rows = [
        {"method": "paired", "follower_id": 1, "leader_id": nth, column: value}
        for nth, value in enumerate(ms, start=2)
    ]
    return matrices(rows, [1, 2, 3, 4], column)


@pytest.mark.parametrize(
    ("ms", "scale"),
    [
        ((0.6, 0.7), (0.6, 2.6)),
        ((0.6, 10.0), (0.6, 10.0)),
        ((5.0, 5.1), (5.0, 15.0)),
        ((None, 0.6), (0.6, 2.6)),
        ((None,), (0.0, 2.0)),
    ],
)
def test_scale_reaches_2_ms_and_twice_the_fastest_pair_beyond_it(ms, scale):
    assert scale_ms(matrix(*ms)) == pytest.approx(scale)


@pytest.mark.parametrize(("ms", "end"), [((0.1, -0.2), 2.0), ((-7.0, 3.0), 7.0), ((None,), 2.0)])
def test_scale_of_changes_is_as_long_on_both_sides(ms, end):
    assert change_scale_ms(matrix(*ms, column="rise_ms")) == (-end, end)
