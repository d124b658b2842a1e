"""Why brokers do not answer a librdkafka client: a refusal, or nothing in time."""

from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

KafkaAnswer = TypeVar("KafkaAnswer")

REFUSED = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 (librdkafka's names)


def answer_of(request: Future[KafkaAnswer], timeout_s: float) -> KafkaAnswer:
    """
    Return the answer of an AdminClient's request that has this timeout.

    Raises:
        KafkaException: there is none; also if librdkafka itself does not say so in time, of which Python's
            own error has no text.

    """
    try:
        return request.result(timeout_s)
    except TimeoutError as error:
        text = f"no broker has answered for {timeout_s:g} s"
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, text)) from error  # noqa: SLF001 (librdkafka's)


class Refusals:
    """
    The error callback of one client. It keeps the first failed login or TLS handshake.

    The client's exceptions say only that no broker answers.
    """

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.first = ""

    def __call__(self, error: KafkaError) -> None:
        """Receive an error of the client; called by its `poll`."""
        if error.code() in REFUSED:
            self.first = self.first or error.str()
