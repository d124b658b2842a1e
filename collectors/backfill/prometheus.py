"""
Read raw samples over the HTTP API of Prometheus, in responses of bounded size.

An instant query of a range selector, `{...}[600000ms]`, returns samples as stored, with their timestamps.
`query_range` returns values computed at fixed steps: `docs/decisions/011-raw-samples-from-prometheus.md`.
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

from collectors.backfill.prometheus_query import SHOWN_CHARS, query_text, seconds
from collectors.bearer import bearer
from collectors.errors import CollectorError
from conf.settings import Prometheus

log = logging.getLogger(__name__)
logging.getLogger("urllib3").setLevel(logging.ERROR)  # this module logs retries itself

MIB = 1 << 20
CONNECT_TIMEOUT_S = 10.0
BUSY = (429, 500, 502, 503, 504)
UNPROCESSABLE, UNAVAILABLE = 422, 503  # over the server's sample limit, or its query timeout
REDIRECTS = range(300, 400)
_REMEDIES = {
    401: "set username and password_file, or bearer_token_file, in [prometheus] of the settings",
    403: "check the credentials and headers, such as X-Scope-OrgID, in [prometheus] of the settings",
    404: "check the base URL: it includes any path before /api/v1",
    400: "correct the selector: --match",
}

Value = tuple[int, str]
"""Epoch milliseconds, and the value as the server formats it, which parses to the same float."""

Parameters = list[tuple[str, str]]
"""The names and values of a request's parameters."""

T = TypeVar("T")


class PrometheusError(CollectorError):
    """The server does not answer, or not as requested."""


class TooLargeError(PrometheusError):
    """The response is too large for the server or for `max_answer_mib`; request less."""


@dataclass(frozen=True, slots=True)
class PrometheusSeries:
    """A series of the server, with its samples in a time range, in time order."""

    labels: dict[str, str]
    values: list[Value]
    has_histograms: bool = False  # native histograms, which no text format supports


class PrometheusClient:
    """A client of one server. A response is held in memory and is limited to `max_answer_mib`."""

    def __init__(self, url: str, settings: Prometheus) -> None:
        """
        Read the secrets; nothing is requested yet.

        Raises:
            ValueError: the URL is invalid or contains credentials, or the token's file has no token.
            OSError: a file with a secret or certificate cannot be read.

        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
            message = (
                f"{shown}: give an http or https URL without a password; "
                "the password belongs in a file that [prometheus] of the settings names"
            )
            raise ValueError(message)
        self.url = url.rstrip("/")
        self._max_bytes = settings.max_answer_mib * MIB
        self._headers = _headers(settings)
        tls = ssl.create_default_context(cafile=settings.ca_file or None)
        if settings.cert_file:
            tls.load_cert_chain(settings.cert_file, settings.key_file or None)
        timeout = Timeout(connect=CONNECT_TIMEOUT_S, read=settings.timeout_s)
        self._pool = urllib3.PoolManager(ssl_context=tls, timeout=timeout)
        self._retries = Retry(
            settings.retries,
            redirect=False,
            status_forcelist=BUSY,
            allowed_methods=None,  # every request is read-only
            backoff_factor=0.5,
            raise_on_status=False,
        )

    def names(self, selectors: Sequence[str], start_ms: int, end_ms: int) -> list[str]:
        """Return the metric names that match the selectors in a time range, sorted."""
        matchers = [("match[]", each) for each in selectors]
        time_range = [("start", seconds(start_ms)), ("end", seconds(end_ms - 1))]
        return sorted(self._request("GET", "label/__name__/values", [*matchers, *time_range], list))

    def types(self) -> dict[str, str]:
        """Return the current metric types by name; empty if the server has no metadata."""
        try:
            metadata: dict[str, Any] = self._request("GET", "metadata", [], dict)
        except PrometheusError as error:
            log.info("no metric types: %s", error)
            return {}
        types = {name: {row.get("type", "") for row in rows} for name, rows in metadata.items()}
        return {name: kinds.pop() for name, kinds in types.items() if len(kinds) == 1}

    def samples(self, selectors: Iterable[str], start_ms: int, end_ms: int) -> list[PrometheusSeries]:
        """
        Return the series with samples in `start_ms` <= time < `end_ms`, sorted by name and labels.

        A range includes a sample at its start in Prometheus 2, but not in Prometheus 3. The query therefore
        starts one millisecond earlier, and earlier samples are removed.

        Raises:
            TooLargeError: the response would be too large.
            PrometheusError: the server does not answer, or not with samples.

        """
        found: dict[tuple[tuple[str, str], ...], PrometheusSeries] = {}
        for selector in selectors:
            query = f"{selector}[{end_ms - start_ms}ms]"
            parameters = [("query", query), ("time", seconds(end_ms - 1))]
            answer: dict[str, Any] = self._request("POST", "query", parameters, dict)
            if answer.get("resultType") != "matrix":
                message = (
                    f"{self.url}/api/v1/query: resultType is "
                    f"{answer.get('resultType')}, not matrix; query: {query}"
                )
                raise PrometheusError(message)
            for each in answer["result"]:
                series = _series(each, start_ms)
                if series.values or series.has_histograms:
                    found[_order(series.labels)] = series
        return [found[key] for key in sorted(found)]

    def _request(self, method: str, path: str, parameters: Parameters, kind: Callable[[], T]) -> T:
        """Send a request, with retries; return `data` of the response."""
        where = f"{self.url}/api/v1/{path}"
        status, body = self._response(method, where, parameters)
        shown = query_text(parameters)
        try:
            answer = json.loads(body)
            data = (answer.get("data") or kind()) if answer["status"] == "success" else None
        except (ValueError, KeyError, TypeError, AttributeError):
            answer, data = {}, None
        if isinstance(data, type(kind())) and not answer.get("warnings"):
            return data
        reason = answer.get("error") or answer.get("warnings") or body[:SHOWN_CHARS].decode(errors="replace")
        message = f"{where}: status {status}: {reason}{shown}"
        if status == UNPROCESSABLE or (status == UNAVAILABLE and answer.get("errorType") == "timeout"):
            raise TooLargeError(message)
        if answer.get("warnings"):
            message += "; an incomplete response is not used: fix the cause of the warning, and start again"
        else:
            message += f"; {_REMEDIES.get(status, 'see the log of the server')}"
        raise PrometheusError(message)

    def _response(self, method: str, where: str, parameters: Parameters) -> tuple[int, bytes]:
        """Return status and body; retry a response that breaks off like one that never arrives."""
        encoded = urlencode(parameters)
        retries = self._retries
        url = f"{where}?{encoded}" if method == "GET" and encoded else where
        body = encoded.encode() if method == "POST" else None
        while True:
            try:
                response = self._pool.request(
                    method, url, body=body, headers=self._headers, preload_content=False, retries=retries
                )
                try:
                    return self._read(response, where, parameters)
                finally:
                    response.release_conn()
            except MaxRetryError as error:
                raise self._no_response(where, parameters, error.reason or error) from error
            except HTTPError as error:
                log.warning("%s: the response broke off (%s), retrying", where, error)
                try:
                    retries = retries.increment(method, url, error=error)
                except (MaxRetryError, HTTPError) as last:
                    raise self._no_response(where, parameters, error) from last
                retries.sleep()

    def _read(
        self, response: urllib3.BaseHTTPResponse, where: str, parameters: Parameters
    ) -> tuple[int, bytes]:
        if response.status in REDIRECTS:
            to = response.headers.get("Location", "nowhere")
            message = f"{where}: redirects to {to}; give the URL of the API itself"
            raise PrometheusError(message)
        held = bytearray()
        for block in response.stream(MIB, decode_content=True):
            held += block
            if len(held) > self._max_bytes:
                response.close()
                limit = f"{self._max_bytes // MIB} MiB"
                message = f"{where}: the response is larger than {limit}{query_text(parameters)}"
                raise TooLargeError(message)
        return response.status, bytes(held)

    def _no_response(self, where: str, parameters: Parameters, error: Exception) -> PrometheusError:
        if isinstance(error, ResponseError):
            error = ResponseError(f"{error}; the server or a proxy before it is busy")
        return PrometheusError(
            f"{where}: no response after {self._retries.total} retries: {error}{query_text(parameters)}; "
            "check that the server is up and reachable, then start again: published windows are skipped"
        )


def _headers(settings: Prometheus) -> dict[str, str]:
    headers = {**make_headers(accept_encoding="gzip", user_agent="plumbline"), **settings.headers}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    if settings.bearer_token_file:
        headers["Authorization"] = bearer(settings.bearer_token_file)
    elif settings.username:
        password = Path(settings.password_file).read_text().strip() if settings.password_file else ""
        headers |= make_headers(basic_auth=f"{settings.username}:{password}")
    return headers


def _series(row: Mapping[str, Any], start_ms: int) -> PrometheusSeries:
    values = ((round(at * 1_000), value) for at, value in row.get("values", ()))
    in_range = [(at, value) for at, value in values if at >= start_ms]
    return PrometheusSeries(row["metric"], in_range, bool(row.get("histograms")))


def _order(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return (("", labels.get("__name__", "")), *sorted(labels.items()))
