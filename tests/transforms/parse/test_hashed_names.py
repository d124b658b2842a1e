"""Client ids and principals, hashed with a key."""

import pytest

from tests.transforms.parse.records import COMPLETED, line, record
from transforms.parse.hashed_names import hash_names
from transforms.parse.requests import parse

KEY = "a key that nobody knows"


@pytest.fixture(autouse=True)
def _interpreted():
    """Nothing here needs Spark."""


def rows(value):
    return parse(record(value)).rows["requests"]


def test_names_are_hashed_and_all_else_stays():
    given = rows(line(**{"requestHeader.clientId": "payroll", "principal": "User:ann"}))

    assert hash_names(given, KEY) == [
        given[0]._replace(client_id="client-60f8bb994c69b36d", principal="User:091287dc16039b89")
    ]


def test_fetchers_of_followers_and_absent_names_stay():
    given = rows(COMPLETED) + rows(line(**{"requestHeader.clientId": None}, principal=None))

    assert [row.client_id for row in hash_names(given, KEY)] == ["broker-2-fetcher-0", None]
    assert hash_names(given, KEY)[1].principal is None


def test_a_principal_without_a_type_is_its_own_type():
    assert hash_names(rows(line(principal="ann")), KEY)[0].principal.startswith("ann:")


def test_an_empty_key_and_a_table_without_names_change_nothing():
    given = rows(line(principal="User:ann"))
    topics = parse(record(line())).rows.get("topics", [])

    assert (hash_names(given, ""), hash_names(topics, KEY)) == (given, topics)
