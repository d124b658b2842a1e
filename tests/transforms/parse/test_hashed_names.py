"""Client ids and principals, hashed with a key."""

from tests.transforms.parse.records import COMPLETED, line, record
from transforms.parse.hashed_names import hash_connection, hash_names
from transforms.parse.requests import parse

KEY = "a secret key"


def rows(value):
    return parse(record(value)).rows["requests"]


def test_names_are_hashed_and_other_columns_stay():
    parsed = rows(line(**{"requestHeader.clientId": "payroll", "principal": "User:ann"}))

    assert hash_names(parsed, KEY) == [
        parsed[0]._replace(
            client_id="client-2f4fe6b39db6a22c",
            principal="User:1be099a5180d7fba",
            connection=hash_connection(parsed[0].connection, KEY),
        )
    ]


def test_follower_fetchers_and_missing_names_stay():
    parsed = rows(COMPLETED) + rows(line(**{"requestHeader.clientId": None}, principal=None))

    assert [row.client_id for row in hash_names(parsed, KEY)] == ["broker-2-fetcher-0", None]
    assert hash_names(parsed, KEY)[1].principal is None


def test_a_principal_without_a_type_is_hashed_whole():
    assert "ann" not in hash_names(rows(line(principal="ann")), KEY)[0].principal


def test_an_empty_key_and_a_table_without_names_change_nothing():
    parsed = rows(line(principal="User:ann"))
    topics = parse(record(line())).rows.get("topics", [])

    assert (hash_names(parsed, ""), hash_names(topics, KEY)) == (parsed, topics)
