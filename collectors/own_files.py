"""Recognize files that contain no telemetry: Kafka's other logs and data, and the lab's state."""

import re

DATA, LAB_STATE = "Kafka's data", "the lab's state"

LAB = frozenset({"lab.json", "lab.toml"})
"""A folder with both files is the state of a lab; only its subfolder `LOGS` contains telemetry."""

LOGS = "logs"

_ROTATED = r"([.-][\w.:-]+)?"
_OTHER_LOGS = re.compile(
    r"(server\.log|controller\.log|log-cleaner\.log|kafka-authorizer\.log|kafkaServer-gc\.log|kafkaServer\.out"
    r"|output\.txt)" + _ROTATED
)
"""Names from Kafka's log4j settings and scripts; output.txt is the output of a process of the lab."""

_SETTINGS = re.compile(
    r"((?:server|broker|controller|telemetry)\.properties|log4j2?\.(?:properties|xml|yaml)|exporter\.yaml"
    r"|experiment\.json)"
)
_DATA = re.compile(
    r"\d{20}(-\d{10})?\.\w+|[\w-]+-checkpoint|bootstrap\.checkpoint|partition\.metadata|meta\.properties|quorum-state"
)


def is_data(name: str) -> bool:
    """
    Return whether this is a file of a broker's data folder.

    Only the name can decide: an uncompressed segment contains any text that its records contain.

    >>> is_data("00000000000000000042.log"), is_data("kafka-request.log.1")
    (True, False)
    """
    return _DATA.fullmatch(name) is not None


def family_of(name: str) -> str | None:
    """
    Return the family of a file without telemetry, for example all rotated server logs, or None if unknown.

    >>> family_of("server.log.2026-11-21-10"), family_of("log4j2.xml")
    ('server.log', 'log4j2.xml')
    >>> family_of("meta.properties"), family_of("notes.txt")
    ("Kafka's data", None)
    """
    if is_data(name):
        return DATA
    known = _OTHER_LOGS.fullmatch(name) or _SETTINGS.fullmatch(name)
    return known[1] if known else None
