"""Silver rows of one move whose end is known."""

from tests.transforms.gold.throttle_rows import MB, copied, in_sync, move, throttle

LIMIT = 5 * MB
WHOLE = 600 * MB
"""Two minutes at the limit: requested at second 1, done at second 121."""


def case(until=121, *, whole=WHOLE, rate=LIMIT, ended=True, **more):
    """Return silver by name: partition 0 is copied to broker 2 from second 1 on."""
    lines = copied(until - 1, rate, whole=whole, **more.pop("copied", {}))
    isr = [in_sync(until + 0.6, [1, 2])] if ended else []
    silver = {"requests": lines, "moves": move(0.9, {0: [2]}), "changes": throttle(0.5, LIMIT), "isr": isr}
    return silver | more
