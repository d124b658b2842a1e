"""The parsers of a process, one per kind of telemetry, with their options and memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

from conf.names import Kind
from conf.settings import read_key
from transforms.parse import client_events, cluster_polls, leadership_changes, perf, requests
from transforms.parse.hashed_names import hash_logger, hash_names
from transforms.parse.plausible import AHEAD_US, checked_instant
from transforms.parse.record import Kept, Outcome, Record, Skipped
from transforms.parse.requests.identities import Identities
from transforms.parse.requests.roles import RoleParser
from transforms.parse.scrapes.page import Limits
from transforms.parse.scrapes.parser import ScrapeParser

Parse = Callable[[Record], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserOptions:
    """Parser settings. Spark plans contain them, so they name the key file and not the key."""

    identities: Identities = field(default_factory=Identities)
    limits: Limits = field(default_factory=Limits)
    pseudonym_key_file: str = ""
    ahead_us: int = AHEAD_US  # how far an instant may be ahead of its Kafka record


@lru_cache(maxsize=4)  # The ingest has two readers.
def parsers_of(options: ParserOptions, reader: str) -> dict[str, Parse]:
    """
    Return the parser of each kind. All tasks of a process share them, since they remember series.

    `reader` is the id of the writer of the rows; each writer needs the rows of every series once.
    """
    del reader
    key = read_key(options.pseudonym_key_file)
    parsers = _parsers(options)
    return {kind.value: partial(_hashed, parse, key) if key else parse for kind, parse in parsers.items()}


def _parsers(options: ParserOptions) -> dict[Kind, Parse]:
    of_lines: dict[Kind, Parse] = {
        Kind.REQUEST_LOG: partial(requests.parse, identities=options.identities),
        Kind.CLIENT_LOG: client_events.parse,
        Kind.STATE_CHANGE: leadership_changes.parse,
        Kind.PERF_TEST: perf.parse,
        Kind.CLUSTER: cluster_polls.parse,
    }
    checked: dict[Kind, Parse] = {
        kind: partial(_checked, parse, options.ahead_us) for kind, parse in of_lines.items()
    }
    checked[Kind.REQUEST_LOG] = RoleParser(checked[Kind.REQUEST_LOG]).parse
    # The parser of scrapes checks them itself, because it must not remember a page that it refuses.
    return {**checked, Kind.METRICS: ScrapeParser(options.limits, ahead_us=options.ahead_us).parse}


def _checked(parse: Parse, ahead_us: int, record: Record) -> Outcome:
    return checked_instant(parse(record), record, ahead_us)


def _hashed(parse: Parse, key: str, record: Record) -> Outcome:
    outcome = parse(record)
    if isinstance(outcome, Kept):
        return outcome._replace(rows={table: hash_names(rows, key) for table, rows in outcome.rows.items()})
    if isinstance(outcome, Skipped):
        return outcome._replace(logger=hash_logger(outcome.logger, key))
    return outcome  # The task leaves out the text of a quarantined line.
