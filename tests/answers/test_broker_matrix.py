"""The matrices of broker pairs: many brokers have numbers alone, and wide ids stand upright."""

import pytest

from answers.produce_held.figures import held_matrix
from answers.slow_links.figures import heat_map
from answers.slow_links.matrix import Matrix

MATRICES = {
    "round trips": lambda brokers: heat_map(
        Matrix(method="paired", brokers=brokers, cells=[[None] * len(brokers)] * len(brokers)), (0.0, 2.0)
    ),
    "produce held": lambda brokers: held_matrix([], brokers),
}


@pytest.mark.parametrize("drawn", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize(
    ("brokers", "first", "angle"),
    [([1, 2, 3], "broker 1", 0), (list(range(1, 31)), "1", 0), (list(range(1001, 1031)), "1001", -90)],
)
def test_labels_have_space(drawn, brokers, first, angle):
    figure = drawn(brokers)

    assert figure.data[0].x[0] == figure.data[0].y[0] == first
    assert len(figure.data[0].x) == len(brokers)
    assert figure.layout.xaxis.tickangle == angle
