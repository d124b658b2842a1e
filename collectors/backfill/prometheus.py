"""
Reads raw samples from an existing Prometheus, or what speaks its HTTP API, in answers of bounded size.

An instant query of a range selector, `{...}[600000ms]`, gives samples as they are stored, to the millisecond;
`query_range` gives values made up on a grid of its own: `docs/decisions/011-raw-samples-from-prometheus.md`.
"""

import json
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError, ResponseError
from urllib3.util import Retry, Timeout, make_headers

from collectors.backfill.prometheus_query import TOLD_BYTES, seconds, told_by
from collectors.errors import CollectorError
from conf.settings import Prometheus

log = logging.getLogger(__name__)
logging.getLogger("urllib3").setLevel(logging.ERROR)  # tries are told here, each URL once

MIB = 1 << 20
CONNECT_TIMEOUT_S = 10.0
BUSY = (429, 500, 502, 503, 504)
UNPROCESSABLE, UNAVAILABLE = 422, 503  # too many samples for the server, or too long
REDIRECTS = range(300, 400)
_WAYS_OUT = {
    401: "give username and password_file, or bearer_token_file, in [prometheus] of the settings",
    403: "these credentials may not read it: see [prometheus] in the settings, X-Scope-OrgID in its headers",
    404: "is this its base URL? A path in front of /api/v1 belongs to it",
    400: "correct the selector: --match",
}

Value = tuple[int, str]
"""Instant in epoch milliseconds, and the number as the server writes it: it reads back to the same bits."""

T = TypeVar("T")


class PrometheusError(CollectorError):
    """The server does not give what it is asked for."""


class TooLargeError(PrometheusError):
    """The server refuses so much at once, or it does not fit into memory: ask for less."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series as the server has it, with its samples of a span in order of time."""

    labels: dict[str, str]
    values: list[Value]
    has_histograms: bool = False  # native ones, which no text format holds


class Client:
    """One server; each answer is held whole, and is at most `max_answer_mib`."""

    def __init__(self, url: str, told: Prometheus) -> None:
        """
        Read the secrets; nothing is asked yet.

        Raises:
            ValueError: the URL is none, or has a password in it.
            OSError: a file of secrets or certificates cannot be read.

        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
            message = (
                f"{shown}: give an http or https URL without a password; "
                "that stands in a file that [prometheus] of the settings names"
            )
            raise ValueError(message)
        self.url = url.rstrip("/")
        self._max_bytes = told.max_answer_mib * MIB
        self._headers = _headers(told)
        tls = ssl.create_default_context(cafile=told.ca_file or None)
        if told.cert_file:
            tls.load_cert_chain(told.cert_file, told.key_file or None)
        timeout = Timeout(connect=CONNECT_TIMEOUT_S, read=told.timeout_s)
        self._pool = urllib3.PoolManager(ssl_context=tls, timeout=timeout)
        self._retries = Retry(
            told.retries,
            redirect=False,
            status_forcelist=BUSY,
            allowed_methods=None,  # all that is asked here only reads
            backoff_factor=0.5,
            raise_on_status=False,
        )

    def names(self, selectors: Sequence[str], start_ms: int, end_ms: int) -> list[str]:
        """Give the metric names that the selectors find in a span, in order."""
        asked = [("match[]", each) for each in selectors]
        span = [("start", seconds(start_ms)), ("end", seconds(end_ms - 1))]
        return sorted(self._ask("GET", "label/__name__/values", [*asked, *span], list))

    def types(self) -> dict[str, str]:
        """Give what is known of the types of metrics now, {} from a server that does not tell."""
        try:
            told: dict[str, Any] = self._ask("GET", "metadata", [], dict)
        except PrometheusError as error:
            log.info("no types of metrics: %s", error)
            return {}
        of_name = {name: {entry.get("type", "") for entry in entries} for name, entries in told.items()}
        return {name: types.pop() for name, types in of_name.items() if len(types) == 1}

    def samples(self, selectors: Iterable[str], start_ms: int, end_ms: int) -> list[Series]:
        """
        Give the samples of `start_ms` <= instant < `end_ms`, in order of name and labels.

        Prometheus 2 counts a sample at the very start of a range in, Prometheus 3 does not: one millisecond
        more is asked for.

        Raises:
            TooLargeError: so much is not to be had at once.
            PrometheusError: the server does not answer, or not with samples.

        """
        found: dict[tuple[tuple[str, str], ...], Series] = {}
        for selector in selectors:
            query = f"{selector}[{end_ms - start_ms}ms]"
            asked = [("query", query), ("time", seconds(end_ms - 1))]
            answer: dict[str, Any] = self._ask("POST", "query", asked, dict)
            if answer.get("resultType") != "matrix":
                message = (
                    f"{self.url}/api/v1/query: gives {answer.get('resultType')} for samples; query: {query}"
                )
                raise PrometheusError(message)
            for each in answer["result"]:
                series = _series(each, start_ms)
                if series.values or series.has_histograms:
                    found[_order(series.labels)] = series
        return [found[key] for key in sorted(found)]

    def _ask(self, method: str, path: str, asked: list[tuple[str, str]], kind: Callable[[], T]) -> T:
        """Ask, again where it may help, and give `data` of the answer."""
        where = f"{self.url}/api/v1/{path}"
        status, body = self._answer(method, where, asked)
        what = told_by(asked)
        try:
            answer = json.loads(body)
            data = (answer.get("data") or kind()) if answer["status"] == "success" else None
        except (ValueError, KeyError, TypeError, AttributeError):
            answer, data = {}, None
        if isinstance(data, type(kind())) and not answer.get("warnings"):
            return data
        told = answer.get("error") or answer.get("warnings") or body[:TOLD_BYTES].decode(errors="replace")
        message = f"{where}: status {status}: {told}{what}"
        if status == UNPROCESSABLE or (status == UNAVAILABLE and answer.get("errorType") == "timeout"):
            raise TooLargeError(message)
        if answer.get("warnings"):
            message += "; an answer that is not whole is not taken: see to what it warns of, and start again"
        else:
            message += f"; {_WAYS_OUT.get(status, 'see the log of the server')}"
        raise PrometheusError(message)

    def _answer(self, method: str, where: str, asked: list[tuple[str, str]]) -> tuple[int, bytes]:
        """Read a whole answer; one that breaks off is asked for again as one that never came is."""
        told = urlencode(asked)
        retries = self._retries
        url = f"{where}?{told}" if method == "GET" and told else where
        body = told.encode() if method == "POST" else None
        while True:
            try:
                response = self._pool.request(
                    method, url, body=body, headers=self._headers, preload_content=False, retries=retries
                )
                try:
                    return self._read(response, where, asked)
                finally:
                    response.release_conn()
            except MaxRetryError as error:
                raise self._no_answer(where, asked, error.reason or error) from error
            except HTTPError as error:
                log.warning("%s: the answer broke off (%s), asking again", where, error)
                try:
                    retries = retries.increment(method, url, error=error)
                except (MaxRetryError, HTTPError) as last:
                    raise self._no_answer(where, asked, error) from last
                retries.sleep()

    def _read(
        self, response: urllib3.BaseHTTPResponse, where: str, asked: list[tuple[str, str]]
    ) -> tuple[int, bytes]:
        if response.status in REDIRECTS:
            to = response.headers.get("Location", "nowhere")
            message = f"{where}: sends on to {to}: give the URL where the API answers itself"
            raise PrometheusError(message)
        held = bytearray()
        for block in response.stream(MIB, decode_content=True):
            held += block
            if len(held) > self._max_bytes:
                response.close()
                message = f"{where}: the answer is beyond {self._max_bytes // MIB} MiB{told_by(asked)}"
                raise TooLargeError(message)
        return response.status, bytes(held)

    def _no_answer(self, where: str, asked: list[tuple[str, str]], error: Exception) -> PrometheusError:
        if isinstance(error, ResponseError):
            error = ResponseError(f"{error}; it is busy, or what stands in front of it")
        return PrometheusError(
            f"{where}: no answer after {self._retries.total} more tries: {error}{told_by(asked)}; "
            "is it up, and reachable from here? Then start again: what was published is not read again"
        )


def _headers(told: Prometheus) -> dict[str, str]:
    headers = {**make_headers(accept_encoding="gzip", user_agent="plumbline"), **told.headers}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    if told.bearer_token_file:
        headers["Authorization"] = f"Bearer {Path(told.bearer_token_file).read_text().strip()}"
    elif told.username:
        password = Path(told.password_file).read_text().strip() if told.password_file else ""
        headers |= make_headers(basic_auth=f"{told.username}:{password}")
    return headers


def _series(told: Mapping[str, Any], start_ms: int) -> Series:
    values = ((round(at * 1_000), value) for at, value in told.get("values", ()))
    kept = [(at, value) for at, value in values if at >= start_ms]
    return Series(told["metric"], kept, bool(told.get("histograms")))


def _order(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return (("", labels.get("__name__", "")), *sorted(labels.items()))
