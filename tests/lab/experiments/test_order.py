"""The order of the arms in each block."""

from collections import Counter

import pytest

from lab.experiments.order import orders

ARMS = ("a", "b", "c")


@pytest.mark.parametrize("blocks", [1, 2, 7, 12, 20])
def test_each_block_has_each_arm_once_and_each_arm_comes_first_about_as_often(blocks):
    for seed in range(50):
        drawn = orders(ARMS, blocks, seed)
        first = Counter(block[0] for block in drawn)

        assert len(drawn) == blocks
        assert all(sorted(block) == list(ARMS) for block in drawn)
        assert max(first.values()) - min(first[arm] for arm in ARMS) <= 1


def test_more_blocks_change_none_that_were_drawn():
    assert all(orders(ARMS, 9, 4)[:n] == orders(ARMS, n, 4) for n in range(9))


def test_every_order_is_as_likely():
    n = 3000
    drawn = Counter(tuple(orders(ARMS, 1, seed)[0]) for seed in range(n))

    assert len(drawn) == 6
    assert all(abs(times - n / 6) < 100 for times in drawn.values())  # 100 is five standard deviations


def test_another_seed_draws_another_order():
    assert len({str(orders(ARMS, 6, seed)) for seed in range(5)}) > 1
