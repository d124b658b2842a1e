"""The options of the two Kafka clients of an ingest: Spark's source plans offsets, librdkafka reads."""

import atexit
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from conf.exit_codes import WrongUseError
from conf.kafka_security import KafkaSecurity, java_file
from conf.settings import Telemetry

PRODUCER_ONLY = ("linger.ms", "compression.", "queue.buffering.", "batch.", "message.", "delivery.")


def check_source(telemetry: Telemetry) -> None:
    """
    Check that Spark's source can connect with the settings, before there is a session.

    Raises:
        WrongUseError: a file cannot be read, or an option is for librdkafka alone; the message names it.

    >>> check_source(Telemetry(client_options={"linger.ms": "5", "sasl.kerberos.keytab": "k"}))
    Traceback (most recent call last):
    conf.exit_codes.WrongUseError: [telemetry] client_options: 'sasl.kerberos.keytab' has no known \
counterpart in Kafka's Java client
    """
    telemetry.security.java()
    for name in telemetry.client_options:
        if not name.startswith(PRODUCER_ONLY):
            message = f"[telemetry] client_options: {name!r} has no known counterpart in Kafka's Java client"
            raise WrongUseError(message)


def source_options(telemetry: Telemetry) -> dict[str, str]:
    """Return the options of Spark's Kafka source; secrets are references into a file of this process."""
    servers = {"kafka.bootstrap.servers": telemetry.bootstrap_servers}
    return servers | telemetry.security.spark(_file(telemetry.security))


@cache
def _file(security: KafkaSecurity) -> Path:
    """Write the file that the source refers to; it is removed when this process ends."""
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(java_file(security))


def consumer_options(telemetry: Telemetry) -> dict[str, str]:
    """Return the options of a librdkafka consumer, without its login; it joins no group."""
    options = telemetry.client_options.items()
    reading = {option: value for option, value in options if not option.startswith(PRODUCER_ONLY)}
    name = f"{telemetry.own_client_prefix}ingest"
    return reading | {"bootstrap.servers": telemetry.bootstrap_servers, "client.id": name, "group.id": name}
