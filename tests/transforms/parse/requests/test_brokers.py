"""The racks of brokers in METADATA responses."""

import json

import pytest

from tests.transforms.parse.records import HEAD, REQUEST_LINES, TAIL, record
from transforms.parse.record import DAY_US, PARSER_VERSION
from transforms.parse.requests import parse

METADATA = REQUEST_LINES["METADATA"]
DOCUMENT = json.loads(METADATA.split(b"Completed request:", 1)[1].removesuffix(TAIL))


def brokers(changes=None, **more):
    """Return the rows of the real line with another response, or with other fields."""
    document = json.loads(json.dumps(DOCUMENT)) | more
    if changes is not None:
        document["response"] |= changes
    return parse(record(HEAD + json.dumps(document).encode() + TAIL)).rows.get("brokers", [])


def test_a_real_response_names_every_broker():
    rows = parse(record(METADATA, position="p/7")).rows["brokers"]

    at_us = 1_795_252_771_311_297
    assert rows == [
        ("lab", broker, None, "request_log", at_us, at_us // DAY_US, "p/7", PARSER_VERSION)
        for broker in (1, 2, 3)
    ]


def test_a_broker_has_the_rack_of_the_response_and_an_empty_rack_is_null():
    named = [{"nodeId": 1, "host": "h", "port": 1, "rack": "east-1a"}, {"nodeId": 2, "host": "h", "rack": ""}]

    assert [(row.broker_id, row.rack) for row in brokers({"brokers": named})] == [(1, "east-1a"), (2, None)]


WITHOUT = {
    "version 0 has no racks": {
        "requestHeader": DOCUMENT["requestHeader"] | {"requestApiVersion": 0},
        "response": {"brokers": [{"nodeId": 1, "host": "h", "port": 1}], "topics": []},
    },
    "no response": {"response": ""},
    "no response, 4.4": {"response": None},
    "no brokers": {"response": DOCUMENT["response"] | {"brokers": None}},
    "a broker without an id": {"response": DOCUMENT["response"] | {"brokers": [{"host": "h", "rack": "a"}]}},
}


@pytest.mark.parametrize("name", WITHOUT)
def test_no_broker_is_known_from_other_responses(name):
    assert brokers(**WITHOUT[name]) == []
