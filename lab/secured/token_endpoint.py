"""
The lab's mock of an OAuth authorization server: an HTTPS token endpoint with the client-credentials grant.

It signs JSON Web Tokens (RS256) whose subject is the client id. The broker checks them with `jwks.json`.
"""

import base64
import hmac
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lab.secured.keys import openssl

AUDIENCE, ISSUER, KEY_ID = "kafka", "plumbline-lab", "lab-1"
LIFETIME_S = 3_600


class Signer:
    """Signs tokens with a key of its own."""

    def __init__(self, folder: Path) -> None:
        """Make the key, and write its public part as a key set."""
        self._key, self.key_set = folder / "token.key", folder / "jwks.json"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._key))
        printed = openssl("rsa", "-in", str(self._key), "-noout", "-modulus").decode()
        modulus = printed.strip().partition("=")[2]
        public = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "e": "AQAB"}
        public["n"] = _encoded(bytes.fromhex(modulus))
        self.key_set.write_text(json.dumps({"keys": [public]}))

    def token(self, client_id: str) -> str:
        """Return a token for a client; it begins now."""
        now = int(time.time())
        claims = {"sub": client_id, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + LIFETIME_S}
        claims["scope"] = "kafka"
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
        signature = openssl("dgst", "-sha256", "-sign", str(self._key), stdin=signed.encode())
        return f"{signed}.{_encoded(signature)}"


@contextmanager
def token_endpoint(
    signer: Signer, secrets: Mapping[str, str], certificate: tuple[Path, Path]
) -> Iterator[str]:
    """Serve tokens to the clients with these secrets; yield the URL."""

    class TokenHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            client_id, secret = _credentials(self.headers.get("Authorization", ""))
            is_known = hmac.compare_digest(secrets.get(client_id, "\0").encode(), secret.encode())
            answer: dict[str, Any] = {"error": "invalid_client", "error_description": "wrong id or secret"}
            if is_known:
                answer = {"access_token": signer.token(client_id), "token_type": "Bearer"}
                answer["expires_in"] = LIFETIME_S
            body = json.dumps(answer).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as in the base class)
            """Write nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), TokenHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}/token"
        finally:
            server.shutdown()
            thread.join()


def _credentials(header: str) -> tuple[str, str]:
    """
    Return id and secret of a Basic `Authorization` header; librdkafka and Java may percent-encode them.

    >>> _credentials("Basic YTpiJTIx")
    ('a', 'b!')
    >>> _credentials("Bearer x")
    ('', '')
    """
    kind, _, encoded = header.partition(" ")
    if kind != "Basic":
        return "", ""
    client_id, _, secret = base64.b64decode(encoded).decode().partition(":")
    return unquote(client_id), unquote(secret)


def _encoded(part: bytes) -> str:
    r"""
    Return base64url without padding.

    >>> _encoded(b"\xff\xfe")
    '__4'
    """
    return base64.urlsafe_b64encode(part).decode().rstrip("=")
