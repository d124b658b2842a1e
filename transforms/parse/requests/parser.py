"""Parse one line of a broker's request log (`kafka.request.logger` at DEBUG)."""

from typing import Any

from transforms.parse.brokers import broker_rows
from transforms.parse.columns import origin, row_type
from transforms.parse.line import Line, skipped, split
from transforms.parse.record import NO_CLUSTER, PARSER_VERSION, Kept, Outcome, Quarantined, Record, sample
from transforms.parse.requests.admin import TABLES, Call, with_few_refused
from transforms.parse.requests.documents import MARK, AnyDocument, read_document, shown_end
from transforms.parse.requests.identities import Identities
from transforms.parse.requests.partitions import id_or_none
from transforms.parse.requests.row import Request, request_row
from transforms.parse.requests.text_form import START, read_text

LOGGER = "kafka.request.logger"
MARK_BYTES = MARK.encode()
JSON_START = MARK_BYTES + b"{"
NO_IDENTITIES = Identities()
API = Request._fields.index("api")
ONE_ROW = frozenset({"FETCH", "PRODUCE"})
NAMES_TOPICS = frozenset({"METADATA", "CREATE_TOPICS"})
METADATA_WITH_RACKS = 1

_new = tuple.__new__

TopicRow = row_type("TopicRow", "cluster topic_id topic_name is_internal seen_at position parser_version")


def parse(record: Record, identities: Identities = NO_IDENTITIES) -> Outcome:
    """
    Parse one line into a row of `requests`, and rows of `topics`, `brokers` or the tables of `admin`.

    A line with `Completed request:` is never skipped.
    """
    value, cluster, node, _, zone, _, _, _, _, _, _, chunk, encoding, _, _ = record
    line = split(value, node, zone, chunk, encoding)
    if isinstance(line, Quarantined):
        return line
    value, start, end, _, node_id, _, _, _, fault = line
    is_json = value.startswith(JSON_START, start)
    if not is_json and MARK_BYTES not in value:
        return skipped(Line._make(line), LOGGER, "not_a_request")
    if fault or cluster is None or node_id is None:
        return fault or _unplaced(record)
    if is_json and value.endswith(b"}", start, end):
        document = read_document(value[start + len(MARK) : end])
    else:
        document = _read_text(Line._make(line), is_json=is_json)
    if isinstance(document, Quarantined):
        return document
    row = request_row(record, line, document, identities, is_json=is_json)
    if isinstance(row, Quarantined):
        return row
    rows: dict[str, list[Any]] = {"requests": [row]}
    if is_json and row[API] not in ONE_ROW:
        rows |= _more_rows(row, document, record)
    return _new(Kept, (rows, ()))


def _unplaced(record: Record) -> Quarantined:
    if record.cluster is None:
        return NO_CLUSTER
    return Quarantined("node_without_number", record.node or "no node")


def _read_text(line: Line, *, is_json: bool) -> AnyDocument | Quarantined:
    """Parse the text form, or return why a line is neither JSON nor text."""
    if not is_json and not line.message.startswith(START):
        return Quarantined("unknown_form", sample(line.text))
    # Only the logger marks the end of the text form, since a principal or listener has no end mark.
    if is_json or line.logger is None:
        return Quarantined("truncated_line", shown_end(line.text))
    return read_text(line.message)


def _more_rows(
    row: Any,  # noqa: ANN401 (a type made at run time)
    document: AnyDocument,
    record: Record,
) -> dict[str, list[Any]]:
    """Return the rows of `topics`, `brokers` or a table of `admin`, by table; no entry without rows."""
    request, response = document.request or None, document.response or None
    rows: dict[str, list[Any]] = {}
    if row.api in NAMES_TOPICS and response is not None:
        seen = (row.logged_at, row.position, PARSER_VERSION)
        rows["topics"] = [
            TopicRow(row.cluster, topic_id, topic.name, topic.is_internal, *seen)
            for topic in response.topics
            if (topic_id := id_or_none(topic.topic_id)) and topic.name is not None and topic.error_code == 0
        ]
        if row.api == "METADATA" and row.api_version >= METADATA_WITH_RACKS:
            racks = [(broker.node_id, broker.rack) for broker in response.brokers or ()]
            rows["brokers"] = broker_rows(row.cluster, row.logged_at, row.position, "request_log", racks)
    elif row.api in TABLES:
        table, rows_of = TABLES[row.api]
        place = (row.cluster, row.broker_id, row.logged_at, row.logged_date)
        call = Call(document.request_header, row.principal, request, response, place, origin(record))
        rows[table] = list(with_few_refused(rows_of(call)))
    return {table: found for table, found in rows.items() if found}
