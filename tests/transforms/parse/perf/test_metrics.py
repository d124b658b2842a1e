"""Client metrics as ToolsUtils prints them: tags, numbers, and words that only look like numbers."""

import pytest

from schemas.perf_test import CLIENT_METRICS
from tests.transforms.parse.perf.lines import AT, METRIC, parsed, row
from transforms.parse.perf.metrics import ClientMetric


def test_a_row_has_the_columns_of_the_table_in_their_order():
    assert ClientMetric._fields == tuple(CLIENT_METRICS.schema.names)


def test_a_metric_has_its_tags_as_a_map():
    found = row("client_metrics", AT + METRIC)

    expected = ("producer-node-metrics", "outgoing-byte-total", 1234567.0)
    assert (found.metric_group, found.metric, found.value) == expected
    assert found.tags == {"client-id": "perf-client", "node-id": "node-1"}
    assert (found.text, found.quality_flags) == ("1234567.000", [])


def test_a_tag_may_hold_commas_and_a_metric_may_have_no_tags():
    odd = METRIC.replace(b"perf-client", b"a, b=c:d, e")

    assert row("client_metrics", odd).tags == {"client-id": "a", "b": "c:d, e", "node-id": "node-1"}
    assert row("client_metrics", b"producer-metrics:count:{} : 1.000").tags is None


VALUES = {  # as it is written -> as a number
    b"1234567,000": 1234567.0,
    b"-0.125": -0.125,
    b"NaN": None,
    b"1.234.567": None,
    b"1e400": None,
    b"true": None,
}
WORDS = {  # of the client itself: not all are figures
    b"1795382427293": 1795382427293.0,
    b"3.9.1": None,
    b"12345678123456e1": None,  # a commit that Spark would cast to a number
    b"123456781234567d": None,
    b"9" * 400: None,
}


@pytest.mark.parametrize("text", VALUES)
def test_the_value_of_a_metric_is_a_number_of_the_tool_or_null(text):
    found = row("client_metrics", METRIC.replace(b"1234567.000", text))

    assert (found.text.encode(), found.value) == (text, VALUES[text])


@pytest.mark.parametrize("text", WORDS)
def test_a_word_of_the_client_itself_is_a_number_only_where_it_is_one(text):
    word = METRIC.replace(b"producer-node-metrics:outgoing-byte-total", b"app-info:x")
    found = row("client_metrics", word.replace(b"1234567.000", text))

    assert (found.text.encode(), found.value) == (text, WORDS[text])


def test_the_detail_repeats_tags_that_are_no_map():
    found = parsed(METRIC.replace(b"node-id", b"client-id"))

    assert found == ("duplicate_key", "client-id=perf-client, client-id=node-1")
