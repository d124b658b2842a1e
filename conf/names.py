"""The words that edge and Spark share: kinds of telemetry, record headers, state folders."""

from enum import StrEnum


class Kind(StrEnum):
    """What a telemetry record holds; the topic is the prefix of the settings plus this word."""

    REQUEST_LOG = "request-log"
    CLIENT_LOG = "client-log"
    STATE_CHANGE = "state-change"
    METRICS = "metrics"
    PERF_TEST = "perf-test"
    CLUSTER = "cluster"


class Header(StrEnum):
    """The headers of a telemetry record; all values are UTF-8 text."""

    CLUSTER = "cluster"
    CLUSTER_ID = "cluster-id"  # Kafka's own id; absent if the edge does not know it
    NODE = "node"  # as the edge names it, "broker-1": a broker's id is the number it ends in
    KIND = "kind"
    TIME_ZONE = "time-zone"  # IANA name, for log layouts that write local time without a zone
    SOURCE = "source"  # file path or URL, for people
    # NODE/FINGERPRINT/OFFSET, NODE/scrape/EPOCH_NS or NODE/backfill/START_MS-END_MS/N-DIGEST: the same for
    # what is sent again.
    POSITION = "position"
    CONTENT_ENCODING = "content-encoding"  # "gzip" or absent
    CONTENT_TYPE = "content-type"  # of a scrape that is not in the text format, as its exporter sent it
    # "1/?", "2/?", "3/3": parts of one oversized line, all with the position of its start; absent when whole.
    # Only the last part knows how many there are. A record is known by its position and chunk together.
    CHUNK = "chunk"
    # Of a performance test alone: what the line is of.
    RUN = "run"
    ARM = "arm"
    SCENARIO = "scenario"
    CLIENT_VERSION = "client-version"


RUN_DOCUMENT = "plumbline_run"
"""The one key of the JSON line that tells what was run: at the start of a performance test and at its end."""

TelemetryPartition = tuple[str, int]
"""A telemetry topic and the number of one of its partitions."""
