"""Filters stand in the address, whatever that says."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from serving.dashboard.filters import LONGEST, Filters, filters_of

NEWEST = datetime(2026, 11, 21, 12, tzinfo=UTC)


@given(st.text(max_size=80))
def test_no_address_breaks_a_page(query):
    filters = filters_of(query)

    since, until = filters.times(NEWEST)

    assert since < until


names = st.one_of(st.none(), st.text(min_size=1, max_size=40).filter(lambda text: text.strip() == text))
numbers = st.one_of(st.none(), st.integers(0, 10**8))


@given(cluster=names, topic=names, client=names, broker=numbers, span=st.sampled_from(["10m", "1h", "all"]))
def test_filters_come_back_from_their_address_as_they_were(cluster, topic, client, broker, span):
    filters = Filters(cluster=cluster, topic=topic, client=client, broker=broker, span=span)

    assert filters_of(filters.query()) == filters


def test_span_ends_with_the_newest_window_or_where_the_address_says():
    following = filters_of("?span=6h").times(NEWEST)
    fixed = filters_of("?span=10m&until=2026-11-21T11:00:00").times(NEWEST)

    assert following == (NEWEST + timedelta(seconds=10) - timedelta(hours=6), NEWEST + timedelta(seconds=10))
    assert fixed == (datetime(2026, 11, 21, 10, 50, tzinfo=UTC), datetime(2026, 11, 21, 11, tzinfo=UTC))


def test_an_age_in_the_address_becomes_the_instant_in_the_links_of_the_page():
    until = filters_of("?until=2h").until

    assert abs(datetime.now(UTC) - timedelta(hours=2) - until) < timedelta(minutes=1)
    assert filters_of(Filters(until=until).query()).until == until


def test_a_number_that_no_broker_has_is_left_out():
    """Gold's ids are integers of 32 bits: a query with a longer one would fail."""
    names = ("broker", "follower", "leader")

    for text, number in (("999999999", 999_999_999), ("9999999999", None), ("-1", None), ("\u0663", None)):
        filters = filters_of("?" + "&".join(f"{name}={text}" for name in names))
        assert [getattr(filters, name) for name in names] == [number] * 3


def test_long_text_is_cut():
    assert len(filters_of(f"?client={'x' * 9999}").client) == LONGEST


def test_a_span_and_a_comparison_that_are_no_choice_are_left_out():
    assert filters_of("?span=forever&against=forever") == Filters()
