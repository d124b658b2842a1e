"""Parse one line of a broker's request log (`kafka.request.logger` at DEBUG)."""

from typing import Any, NamedTuple

from transforms.parse.columns import origin
from transforms.parse.line import Line, read_line, skipped, untimed
from transforms.parse.record import PARSER_VERSION, Kept, Outcome, Quarantined, Record, sample
from transforms.parse.requests.admin import TABLES, Call
from transforms.parse.requests.documents import MARK, AnyDocument, read_document, shown_end
from transforms.parse.requests.facts import facts_of, text_facts
from transforms.parse.requests.partitions import id_or_none
from transforms.parse.requests.row import Request, request_row
from transforms.parse.requests.text_form import START as TEXT_START
from transforms.parse.requests.text_form import read_text

LOGGER = "kafka.request.logger"
JSON_START = MARK + "{"
ONE_ROW = frozenset({"FETCH", "PRODUCE"})
NAMES_TOPICS = frozenset({"METADATA", "CREATE_TOPICS"})


class TopicName(NamedTuple):
    """A row of `silver.topics`."""

    cluster: str | None
    topic_id: str
    topic_name: str
    is_internal: bool | None
    seen_at: int | None
    position: str | None
    parser_version: int


def parse(record: Record, own_client_prefix: str = "plumbline-") -> Outcome:
    """
    Return the row of `requests` that a line gives, and its rows of `topics` and the tables of `admin`.

    `own_client_prefix` marks the telemetry's own traffic. A line with `Completed request:` is never skipped.
    """
    line = read_line(record)
    if isinstance(line, Quarantined):
        return line
    is_json = line.message.startswith(JSON_START)
    if not is_json and MARK not in line.text:
        return skipped(line, LOGGER, "not_a_request")
    document = _unplaced(line, record) or _read(line, is_json=is_json)
    if isinstance(document, Quarantined):
        return document
    facts = facts_of(document) if is_json else text_facts(document)
    if isinstance(facts, Quarantined):
        return facts
    row = request_row(record, line, document, facts, own_client_prefix)
    if isinstance(row, Quarantined):
        return row
    rows: dict[str, list[Any]] = {"requests": [row]}
    if not is_json:
        row.quality_flags.append("text_form")
    elif row.api not in ONE_ROW:
        rows |= _more_rows(row, document, record)
    return tuple.__new__(Kept, (rows, ()))


def _unplaced(line: Line, record: Record) -> Quarantined | None:
    failure = untimed(line, record)
    if failure is not None:
        return failure
    if record.cluster is None:
        return Quarantined("no_cluster", "the record names no cluster")
    if line.node_id is None:
        return Quarantined("node_without_number", record.node or "no node")
    return None


def _read(line: Line, *, is_json: bool) -> AnyDocument | Quarantined:
    text, message, logger, _, _ = line
    if not is_json and not message.startswith(TEXT_START):
        return Quarantined("unknown_form", sample(text))
    # Where the text form ends is marked by its logger alone: a principal or listener has no end mark.
    if message[-1:] != "}" if is_json else logger is None:
        return Quarantined("truncated_line", shown_end(text))
    return read_document(message[len(MARK) :]) if is_json else read_text(message)


def _more_rows(row: Request, document: AnyDocument, record: Record) -> dict[str, list[Any]]:
    """Return the rows of tables that few APIs have rows of, by table, without empty ones."""
    request, response = document.request or None, document.response or None
    table, found = "topics", []
    if row.api in NAMES_TOPICS and response is not None:
        seen = (row.logged_at, row.position, PARSER_VERSION)
        found = [
            TopicName(row.cluster, topic_id, topic.name, topic.is_internal, *seen)
            for topic in response.topics
            if (topic_id := id_or_none(topic.topic_id)) and topic.name is not None and topic.error_code == 0
        ]
    elif row.api in TABLES:
        table, rows_of = TABLES[row.api]
        place = (row.cluster, row.broker_id, row.logged_at, row.logged_date)
        call = Call(document.request_header, row.principal, request, response, place, origin(record))
        found = list(rows_of(call))
    return {table: found} if found else {}
