"""
Lines that go on with the message of the line before: config dumps, stack traces, the logger behind them.

Each line is judged by itself, so the line before is not looked at. What tells the tail of a torn line of ours
from these is its form: none of ours holds a tab and then `key = value`, a stack frame, or the logger of a
config alone, wherever it is cut. What has no such form stays in quarantine, also behind a blank.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

LONGEST_BYTES = 16 * 1024
"""No line of a dump is longer; a longer one is quarantined unread."""

OURS = ("(kafka.request.logger)", "(state.change.logger)", "(org.apache.kafka.clients.NetworkClient)")
"""The tail of a torn line of ours reaches to its end, and there its logger stands."""

MARKS = (
    "Completed request:",
    "RequestHeader(",
    '"requestHeader"',
    "correlationId",
    "totalTime",
    "clientInformation",
    " starts at leader epoch ",
)
"""Where a layout writes no logger: a line with words of ours is never passed over, whatever form it has."""

FORMS = (
    r"^\t[\w.>/:*-]+ = ",  # an entry as AbstractConfig.logAll writes it
    r"^[ \t]+\([\w.$]*Config\)\s*$",  # `(%c)` of a dump, behind the line break that ends it
    r"^\s+at [\w.$<>/@-]+\((?:[\w$.-]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)(?: ~?\[[^\]]*\])?\s*$",
    r"^\s+\.\.\. \d+ (?:more|common frames omitted)\s*$",
)


def goes_on(line: Column) -> Column:
    r"""
    Tell a line without a stamp of its own that goes on with another logger's message.

    >>> texts = ["\tacks = all", " (a.Config)", "\tat a.B.c(D.java:1)", " (kafka.request.logger)", None]
    >>> lines = spark.createDataFrame([(text,) for text in texts], "line string")
    >>> [row[0] for row in lines.select(goes_on(F.col("line"))).collect()]
    [True, True, True, False, None]
    """
    has_form = reduce(Column.__or__, (line.rlike(form) for form in FORMS))
    has_mark = reduce(Column.__or__, (F.contains(line, F.lit(mark)) for mark in (*OURS, *MARKS)))
    return (F.octet_length(line) <= LONGEST_BYTES) & has_form & ~has_mark
