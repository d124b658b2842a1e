"""The windows in which a limit or a list is set, with or without traffic, as SQL."""

from transforms.windows import WINDOW_S

_SINCE_US, _UNTIL_US = "(window_s * 1000000)", f"((window_s + {WINDOW_S}) * 1000000)"


def settings_on() -> str:
    """
    Return the query of each `covered` window, broker and direction with a limit or a list.

    It reads `covered`, `in_force`, `listed` and `brokers`. A list that is `*` names all brokers.
    """
    # The instant is the end of the window if the list is still set: a limit may be set after the list.
    return f"""
        SELECT
            cluster, broker_id, direction, {_from("limited_from_us")} AS on_from_us,
            {_until("limited_until_us")} AS on_until_us, on_from_us AS at_us
        FROM covered JOIN in_force USING (cluster) WHERE {_overlaps("limited_from_us", "limited_until_us")}
        UNION ALL BY NAME
        SELECT DISTINCT
            cluster, broker_id, direction, {_from("listed_from_us")} AS on_from_us,
            {_until("listed_until_us")} AS on_until_us, greatest(on_until_us - 1, on_from_us) AS at_us,
            true AS is_listed, is_wildcard
        FROM covered JOIN ({_LISTED}) USING (cluster) WHERE {_overlaps("listed_from_us", "listed_until_us")}
    """


_LISTED = """
    SELECT DISTINCT cluster, listed_broker AS broker_id, direction, listed_from_us, listed_until_us,
        false AS is_wildcard FROM listed WHERE listed_broker IS NOT NULL
    UNION ALL BY NAME
    SELECT DISTINCT cluster, broker_id, direction, listed_from_us, listed_until_us, true AS is_wildcard
    FROM listed JOIN brokers USING (cluster) WHERE listed_broker IS NULL
"""


def _from(since: str) -> str:
    return f"greatest({_SINCE_US}, {since})"


def _until(end: str) -> str:
    """Return the end of a setting within the window; `least` ignores NULL, an end that is not yet known."""
    return f"least({end}, {_UNTIL_US})"


def _overlaps(since: str, until: str) -> str:
    return f"{since} < {_UNTIL_US} AND coalesce({until} > {_SINCE_US}, true)"
