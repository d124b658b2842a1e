"""Lines that go on with another message are skipped and counted; the tail of a torn line of ours never is."""

from collections import Counter

import pytest
from pyspark.sql import functions as F

from tests.transforms.parse import change_lines
from tests.transforms.parse.raw_rows import CLIENT_LINES, REQUEST_LINES, line, outcomes, raw
from tests.transforms.parse.test_text_form import TEXTS
from transforms.parse import client_log, continuation, request_checks, request_log, state_change
from transforms.parse.outcome import skipped

AT = b"2026-11-23T04:13:01.592574446Z 52038461034906 "
DUMP = [
    AT + b"INFO ProducerConfig values: ",
    b"\tacks = -1",
    b"\tbootstrap.servers = [127.0.0.1:9092]",
    b"\tclient.id = ",
    b"\tus-west->us-east.topics = .*",
    b" (org.apache.kafka.clients.producer.ProducerConfig)",
]
TRACE = [
    AT
    + b"WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error (kafka.server.ReplicaFetcherThread)",
    b"\tat org.apache.kafka.clients.NetworkClientUtils.sendAndReceive(NetworkClientUtils.java:109)",
    b"\tat java.base/java.lang.Thread.run(Thread.java:840)",
    b"\tat kafka.server.Broker$$anon$1.<init>(Broker.scala) ~[kafka_2.13-4.3.1.jar:?]",
    b"\tat java.base/jdk.internal.Unsafe.park(Native Method)",
    b"\t... 12 more",
]
PARSERS = {
    "request": (request_log.parse_request_log, "not_a_request"),
    "client": (client_log.parse_client_log, "not_a_request"),
    "change": (state_change.parse_state_change, "not_a_change"),
}

ODD = b"a\tb = c\tat a.B.c(D.java:1) (kafka.KafkaConfig)"
"""A client's id that has every form there is."""

OF_OURS = [
    *(one for one in REQUEST_LINES if len(one) < 2_500),
    *TEXTS,
    *(one.replace(b"clientId=", b"clientId=" + ODD) for one in (*TEXTS, *CLIENT_LINES)),
    line(**{"requestHeader.clientId": ODD.decode(), "principal": f"User:CN={ODD.decode()}, O=x"}),
    *(one.replace(b"principal:User:ANONYMOUS", b"principal:User:" + ODD) for one in TEXTS),
    *CLIENT_LINES,
    *change_lines.LINES,
]


@pytest.mark.parametrize(("parse", "_other"), PARSERS.values(), ids=PARSERS)
def test_a_dump_and_a_stack_trace_are_skipped_and_counted(spark, parse, _other):
    parsed = parse(raw(spark, [*DUMP, *TRACE]))

    told = Counter(outcomes(parsed).values())
    assert told[("skipped", "continuation")] == len(DUMP) + len(TRACE) - 2
    assert sum(told.values()) == len(DUMP) + len(TRACE)
    assert {outcome for outcome, _ in told} == {"skipped"}
    counted = {
        (row.logger, row.lines)
        for row in skipped(parsed, batch_id=0).collect()
        if row.reason == "continuation"
    }
    assert counted == {("org.apache.kafka.clients.producer.ProducerConfig", 1), (None, 9)}


STAY = {
    "an exception itself, in the first column": b"java.io.IOException: Connection to 2 was disconnected",
    "our own logger alone: the tail of a line of ours": b" (kafka.request.logger)",
    "any logger but that of a config": b" (kafka.network.RequestChannel$)",
    "that of state changes": b" (state.change.logger)",
    "that of the clients": b" (org.apache.kafka.clients.NetworkClient)",
    "a blank and no such form": b" O=x,listener:CLIENT",
    "an entry behind a blank and no tab": b" acks = -1",
    "a tab and no entry": b"\tacks",
    "a form that holds a request": b"\tacks = Completed request:{}",
    "a form that ends as a request does": b"\tb = c,listener:CLIENT (kafka.request.logger)",
    "longer than any entry": b"\tacks = " + b"x" * continuation.LONGEST_BYTES,
}


@pytest.mark.parametrize(("parse", "_other"), PARSERS.values(), ids=PARSERS)
def test_what_has_no_such_form_stays_in_quarantine(spark, parse, _other):
    found = outcomes(parse(raw(spark, list(STAY.values()))))

    told = dict(zip(STAY, found.values(), strict=True))
    assert told == dict.fromkeys(STAY, ("quarantined", "no_timestamp"))


@pytest.mark.parametrize(("parse", "_other"), PARSERS.values(), ids=PARSERS)
def test_a_line_with_a_stamp_is_no_continuation(spark, parse, _other):
    stamped = AT + b"INFO \tacks = -1 (kafka.request.logger)"

    (told,) = outcomes(parse(raw(spark, [stamped]))).values()

    assert told[1] != "continuation"


def test_no_tail_of_a_torn_line_is_passed_over(spark):
    """Wherever a line of ours is cut, also in a client's id that looks like a dump."""
    tails = {one[at:].decode() for one in OF_OURS for at in range(1, len(one)) if one[at : at + 1] in b" \t"}
    rows = spark.createDataFrame([(tail,) for tail in sorted(tails)], "line string")

    lost = rows.filter(continuation.goes_on(F.col("line"))).collect()

    assert lost == []
    assert len(tails) > 300


def test_the_loggers_are_those_of_the_parsers():
    loggers = (request_checks.LOGGER, state_change.LOGGER, client_log.LOGGER)

    assert tuple(f"({logger})" for logger in loggers) == continuation.OURS
