"""The reason why brokers refuse a librdkafka client; its exceptions say only that no broker answers."""

from confluent_kafka import KafkaError

REFUSED = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 (librdkafka's names)


class Refusals:
    """The error callback of one client. It keeps the first failed login or TLS handshake."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.first = ""

    def __call__(self, error: KafkaError) -> None:
        """Receive an error of the client; called by its `poll`."""
        if error.code() in REFUSED:
            self.first = self.first or error.str()
