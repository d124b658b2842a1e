"""Build queries for the HTTP API of Prometheus."""

from collections.abc import Sequence

SHOWN_CHARS = 300


def with_names(selector: str, names: Sequence[str]) -> str:
    """
    Return a selector that is limited to some metric names.

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
    Return a time as epoch seconds, as the API expects it.

    >>> seconds(1_700_000_000_006)
    '1700000000.006'
    """
    return f"{at_ms // 1_000}.{at_ms % 1_000:03}"


def query_text(parameters: list[tuple[str, str]]) -> str:
    """Return the queries of a request, cut to `SHOWN_CHARS`, for the end of an error message."""
    queries = [value for name, value in parameters if name in ("query", "match[]")]
    text = " ".join(queries)
    return f"; query: {text[:SHOWN_CHARS]}{'...' if len(text) > SHOWN_CHARS else ''}" if queries else ""
