"""What a Prometheus is asked: selectors narrowed to names, instants as its API reads them."""

from collections.abc import Sequence

TOLD_BYTES = 300


def with_names(selector: str, names: Sequence[str]) -> str:
    """
    Narrow a selector to some metric names.

    >>> with_names('{job="kafka"}', ["a", "b"])
    '{job="kafka",__name__=~"a|b"}'
    >>> with_names('kafka_x{topic="t",}', ["kafka_x"])
    '{__name__="kafka_x",topic="t",__name__=~"kafka_x"}'
    >>> with_names("kafka_x", ["kafka_x"])
    '{__name__="kafka_x",__name__=~"kafka_x"}'
    """
    name, _, rest = selector.strip().partition("{")
    inner = rest.strip().removesuffix("}").strip().rstrip(",")
    matchers = [f'__name__="{name.strip()}"'] if name.strip() else []
    matchers += [inner] if inner else []
    return "{" + ",".join([*matchers, f'__name__=~"{"|".join(names)}"']) + "}"


def seconds(at_ms: int) -> str:
    """
    Write an instant as the API reads it.

    >>> seconds(1_700_000_000_006)
    '1700000000.006'
    """
    return f"{at_ms // 1_000}.{at_ms % 1_000:03}"


def told_by(asked: list[tuple[str, str]]) -> str:
    """Say what was asked, for the end of a message."""
    queries = [value for name, value in asked if name in ("query", "match[]")]
    told = " ".join(queries)
    return f"; query: {told[:TOLD_BYTES]}{'...' if len(told) > TOLD_BYTES else ''}" if queries else ""
