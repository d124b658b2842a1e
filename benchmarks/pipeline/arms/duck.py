"""
DuckDB parses and writes the same lines: what one process of the quickest single-node engine takes.

It reads the lines from a file, not from Kafka, and has no crash guarantees: it is a yardstick only.
"""

from pathlib import Path

import duckdb

SHAPE = """{"isForwarded": "BOOLEAN",
    "requestHeader": {"requestApiKeyName": "VARCHAR", "requestApiVersion": "INTEGER",
        "correlationId": "INTEGER", "clientId": "VARCHAR"},
    "request": {"replicaId": "INTEGER", "replicaState": {"replicaId": "INTEGER", "replicaEpoch": "BIGINT"},
        "sessionId": "INTEGER", "sessionEpoch": "INTEGER",
        "topics": [{"topic": "VARCHAR", "name": "VARCHAR", "topicId": "VARCHAR",
            "partitions": [{"partition": "INTEGER", "fetchOffset": "BIGINT"}]}],
        "topicData": [{"name": "VARCHAR", "topicId": "VARCHAR",
            "partitionData": [{"index": "INTEGER", "recordsSizeInBytes": "BIGINT"}]}]},
    "response": {"errorCode": "INTEGER", "sessionId": "INTEGER",
        "responses": [{"topic": "VARCHAR", "name": "VARCHAR", "topicId": "VARCHAR",
            "partitions": [{"partitionIndex": "INTEGER", "errorCode": "INTEGER",
                "recordsSizeInBytes": "BIGINT"}],
            "partitionResponses": [{"index": "INTEGER", "errorCode": "INTEGER", "baseOffset": "BIGINT"}]}]},
    "connection": "VARCHAR", "totalTimeMs": "DOUBLE", "requestQueueTimeMs": "DOUBLE", "localTimeMs": "DOUBLE",
    "remoteTimeMs": "DOUBLE", "responseQueueTimeMs": "DOUBLE", "sendTimeMs": "DOUBLE",
    "throttleTimeMs": "DOUBLE",
    "principal": "VARCHAR", "listener": "VARCHAR",
    "clientInformation": {"softwareName": "VARCHAR", "softwareVersion": "VARCHAR"}}"""


def parse_and_write(lines: Path, folder: Path) -> tuple[int, int]:
    """Write raw lines and parsed requests as Parquet (zstd) and count both."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.execute(
            "CREATE TEMP TABLE lines AS SELECT column0 AS line FROM read_csv(?, "
            "columns = {'column0': 'VARCHAR'}, header = false, delim = '\x01', quote = '', escape = '', "
            "max_line_size = 20000000)",
            [str(lines)],
        )
        connection.execute(f"COPY lines TO '{folder / 'bronze.parquet'}' (FORMAT parquet, COMPRESSION zstd)")
        connection.execute(
            rf"""COPY (
                SELECT try_cast(split_part(line, ' ', 1) AS TIMESTAMPTZ) AS logged_at,
                    json_transform(
                        regexp_extract(line, 'Completed request:(\{{.*\}})', 1), '{SHAPE}'
                    ) AS document
                FROM lines WHERE contains(line, 'Completed request:')
            ) TO '{folder / "silver.parquet"}' (FORMAT parquet, COMPRESSION zstd)"""  # noqa: S608 (our own path)
        )
        raw, parsed = (str(folder / f"{table}.parquet") for table in ("bronze", "silver"))
        written = connection.execute(
            "SELECT (SELECT count(*) FROM read_parquet(?)), count(document.totalTimeMs) FROM read_parquet(?)",
            [raw, parsed],
        ).fetchall()
    return int(written[0][0]), int(written[0][1])
