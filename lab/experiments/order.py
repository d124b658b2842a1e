"""The order of the arms in each block."""

from collections.abc import Sequence
from random import Random


def orders(arms: Sequence[str], blocks: int, seed: int) -> list[list[str]]:
    """
    Draw the order of the arms in each block. In as many blocks as arms, each arm comes once at each place.

    These blocks are a Latin square with shuffled rows, columns and arms: every order of a block is equally
    likely. The first run of a block may meet a cold cache or an empty topic; each arm is first equally often.
    More blocks extend the list and change no earlier block.

    >>> orders(["old", "new"], 4, seed=1)
    [['old', 'new'], ['new', 'old'], ['new', 'old'], ['old', 'new']]
    >>> orders(["old", "new"], 6, seed=1)[:4] == orders(["old", "new"], 4, seed=1)
    True
    >>> [sorted(place) for place in zip(*orders(["a", "b", "c"], 3, seed=7))]
    [['a', 'b', 'c'], ['a', 'b', 'c'], ['a', 'b', 'c']]
    """
    n = len(arms)
    squares = (_square(arms, Random(f"{seed}/{nth}")) for nth in range(-(-blocks // n)))  # noqa: S311 (repeatable)
    return [row for square in squares for row in square][:blocks]


def _square(arms: Sequence[str], random: Random) -> list[list[str]]:
    n = len(arms)
    names, rows, columns = random.sample(arms, n), random.sample(range(n), n), random.sample(range(n), n)
    return [[names[(row + column) % n] for column in columns] for row in rows]
