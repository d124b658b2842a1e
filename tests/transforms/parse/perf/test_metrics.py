"""Client metrics in the format of ToolsUtils: tags, numbers, and text that looks like numbers."""

import pytest

from schemas.silver.perf_test import CLIENT_METRICS
from tests.transforms.parse.perf.lines import AT, METRIC, parsed, row
from transforms.parse.perf.metrics import ClientMetric


def test_a_row_has_the_columns_of_the_table_in_order():
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


VALUES = {  # text -> number
    b"1234567,000": 1234567.0,
    b"-0.125": -0.125,
    b"NaN": None,
    b"1.234.567": None,
    b"1e400": None,
    b"true": None,
}
WORDS = {  # text of `app-info` metrics -> number
    b"1795382427293": 1795382427293.0,
    b"3.9.1": None,
    b"12345678123456e1": None,  # A commit id that Spark would cast to a number.
    b"123456781234567d": None,
    b"9" * 400: None,
}


@pytest.mark.parametrize("text", VALUES)
def test_the_value_of_a_metric_is_a_number_in_the_tool_s_format_or_null(text):
    found = row("client_metrics", METRIC.replace(b"1234567.000", text))

    assert (found.text.encode(), found.value) == (text, VALUES[text])


@pytest.mark.parametrize("text", WORDS)
def test_the_text_of_app_info_is_a_number_only_if_it_has_the_format_of_one(text):
    word = METRIC.replace(b"producer-node-metrics:outgoing-byte-total", b"app-info:x")
    found = row("client_metrics", word.replace(b"1234567.000", text))

    assert (found.text.encode(), found.value) == (text, WORDS[text])


def test_the_detail_shows_repeated_tags():
    found = parsed(METRIC.replace(b"node-id", b"client-id"))

    assert found == ("duplicate_key", "client-id=perf-client, client-id=node-1")
