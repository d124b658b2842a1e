"""Translate the connection options of the settings from librdkafka to Kafka's Java client."""

from conf.settings import Telemetry

SAME = {
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "ssl.key.password": "ssl.key.password",
}
PRODUCER_ONLY = ("linger.ms", "compression.", "queue.buffering.", "batch.", "message.", "delivery.")
LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def java_options(telemetry: Telemetry) -> dict[str, str]:
    """
    Return the options of Spark's Kafka source for the same cluster.

    Raises:
        ValueError: an option has no known counterpart; the message names it.

    >>> java_options(Telemetry(client_options={"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}))[
    ...     "kafka.ssl.truststore.location"
    ... ]
    '/ca.pem'
    """
    options = dict(telemetry.client_options)
    java: dict[str, str] = {"bootstrap.servers": telemetry.bootstrap_servers}
    user, password = options.pop("sasl.username", None), options.pop("sasl.password", None)
    if user is not None:
        java["sasl.jaas.config"] = _login(options, user, password or "")
    for name, value in options.items():
        if name in SAME:
            java[SAME[name]] = value
        elif name == "ssl.ca.location":
            java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": value}
        elif not name.startswith(PRODUCER_ONLY):
            message = f"[telemetry] client_options: {name!r} has no known counterpart in Kafka's Java client"
            raise ValueError(message)
    return {f"kafka.{name}": value for name, value in java.items()}


def consumer_options(telemetry: Telemetry) -> dict[str, str]:
    """Return the options of a librdkafka consumer for the same cluster; it joins no group."""
    options = telemetry.client_options.items()
    reading = {option: value for option, value in options if not option.startswith(PRODUCER_ONLY)}
    name = f"{telemetry.own_client_prefix}ingest"
    return reading | {"bootstrap.servers": telemetry.bootstrap_servers, "client.id": name, "group.id": name}


def _login(options: dict[str, str], user: str, password: str) -> str:
    mechanism = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "PLAIN"
    module = LOGIN_MODULES["SCRAM" if mechanism.startswith("SCRAM") else "PLAIN"]
    return f"{module} required username={_quoted(user)} password={_quoted(password)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
