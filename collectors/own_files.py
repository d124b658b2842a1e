"""Files that stand beside telemetry and hold none: Kafka's other logs and data, the lab's state."""

import re

DATA, LAB_STATE = "Kafka's data", "the lab's state"

LAB = frozenset({"lab.json", "lab.toml"})
"""A folder that holds both is the state of a lab; of what lies in it `LOGS` alone is there to be read."""

LOGS = "logs"

_ROTATED = r"([.-][\w.:-]+)?"
_OTHER_LOGS = re.compile(
    r"(server\.log|controller\.log|log-cleaner\.log|kafka-authorizer\.log|kafkaServer-gc\.log|kafkaServer\.out"
    r"|output\.txt)" + _ROTATED
)
"""As Kafka's own log4j settings and scripts name them; output.txt is what a process of the lab printed."""

_SETTINGS = re.compile(
    r"((?:server|broker|controller|telemetry)\.properties|log4j2?\.(?:properties|xml|yaml)|exporter\.yaml"
    r"|experiment\.json)"
)
_DATA = re.compile(
    r"\d{20}(-\d{10})?\.\w+|[\w-]+-checkpoint|bootstrap\.checkpoint|partition\.metadata|meta\.properties|quorum-state"
)


def is_data(name: str) -> bool:
    """
    Tell a file of a broker's data folder: a segment that is not packed holds whatever records hold.

    >>> is_data("00000000000000000042.log"), is_data("kafka-request.log.1")
    (True, False)
    """
    return _DATA.fullmatch(name) is not None


def own(name: str) -> str | None:
    """
    Give what a file without telemetry is called among its like, or None where nobody knows it.

    >>> own("server.log.2026-11-21-10"), own("log4j2.xml"), own("meta.properties"), own("notes.txt")
    ('server.log', 'log4j2.xml', "Kafka's data", None)
    """
    if is_data(name):
        return DATA
    known = _OTHER_LOGS.fullmatch(name) or _SETTINGS.fullmatch(name)
    return known[1] if known else None
