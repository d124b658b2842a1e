"""
How Kafka clients log in and trust brokers: one section of the settings for librdkafka, Java tools and Spark.

The settings name files. A secret is read where a client is created, so it is in no argument, log or plan.
"""

import atexit
import base64
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from conf.exit_codes import WrongUseError

_SECURITY = "org.apache.kafka.common.security"
_MODULES = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
_OAUTH = "OAUTHBEARER"
_OAUTH_LOGIN = f"{_SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
_TEXTS = (
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "sasl_oauthbearer_token_endpoint_url",
    "sasl_oauthbearer_client_id",
    "sasl_oauthbearer_scope",
)
_LOCATIONS = ("ssl_ca_location", "ssl_certificate_location", "ssl_key_location", "https_ca_location")
_SECRETS = ("sasl_password", "ssl_key_password", "sasl_oauthbearer_client_secret")
_ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""A Java client asks only token endpoints that this system property lists (since Kafka 3.9.1)."""

_PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
_READABLE_KEY = re.compile(r"-----BEGIN (?:ENCRYPTED )?PRIVATE KEY-----([A-Za-z0-9+/=\s]*)-----END")
_PBES2 = bytes.fromhex("06092a864886f70d01050d")
"""The object identifier 1.2.840.113549.1.5.13, which OpenSSL 3 writes by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """
    The login of a Kafka client, with librdkafka's names; a secret is a file that contains it alone.

    A path may contain `~` and environment variables such as `$CREDENTIALS_DIRECTORY` of systemd.
    """

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_ca_location: str = ""  # PEM; empty: the authorities that librdkafka and Java trust by default
    ssl_certificate_location: str = ""  # PEM, of the client, with its chain: mutual TLS
    ssl_key_location: str = ""  # PEM; Java needs PKCS#8
    ssl_key_password_file: str = ""
    ssl_endpoint_identification_algorithm: Literal["https", "none"] = "https"
    sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = ""
    sasl_username: str = ""
    sasl_password_file: str = ""
    sasl_oauthbearer_token_endpoint_url: str = ""
    sasl_oauthbearer_client_id: str = ""
    sasl_oauthbearer_client_secret_file: str = ""
    sasl_oauthbearer_scope: str = ""
    https_ca_location: str = ""  # PEM, of the token endpoint

    def __post_init__(self) -> None:
        """
        Make paths absolute, and check that the settings go together.

        Raises:
            ValueError: one is missing, or has no effect with the others.

        """
        for name in (field.name for field in fields(self)):
            path = getattr(self, name)
            if path and name.endswith(("_file", "_location")):
                absolute = Path(os.path.expandvars(path)).expanduser().absolute()
                object.__setattr__(self, name, str(absolute))
        protocol, mechanism = self.security_protocol, self.sasl_mechanism
        is_tls, is_login = protocol.endswith("SSL"), protocol.startswith("SASL")
        is_oauth, is_mutual = mechanism == _OAUTH, bool(self.ssl_certificate_location)
        login, oauth = "security_protocol = 'SASL_...'", f"sasl_mechanism = '{_OAUTH}'"
        self._needs(is_login, login, "sasl_mechanism")
        named = is_login and not is_oauth
        self._needs(named, "sasl_mechanism = 'PLAIN' or 'SCRAM-...'", "sasl_username", "sasl_password_file")
        endpoint = ("token_endpoint_url", "client_id", "client_secret_file")
        self._needs(is_oauth, oauth, *(f"sasl_oauthbearer_{name}" for name in endpoint))
        self._may(is_oauth, oauth, "sasl_oauthbearer_scope", "https_ca_location")
        self._may(is_tls, "security_protocol = '...SSL'", "ssl_ca_location", "ssl_certificate_location")
        self._needs(is_mutual, "ssl_certificate_location", "ssl_key_location")
        self._may(is_mutual, "ssl_certificate_location", "ssl_key_password_file")
        if urlsplit(self.sasl_oauthbearer_token_endpoint_url).username:
            message = "sasl_oauthbearer_token_endpoint_url has a password: it belongs in a file"
            raise ValueError(message)

    def _needs(self, is_so: bool, condition: str, *names: str) -> None:  # noqa: FBT001 (the condition)
        for name in names:
            if is_so and not getattr(self, name):
                message = f"{name} is required with {condition}"
                raise ValueError(message)
        self._may(is_so, condition, *names)

    def _may(self, is_so: bool, condition: str, *names: str) -> None:  # noqa: FBT001 (the condition)
        for name in names:
            if getattr(self, name) and not is_so:
                message = f"{name} has no effect without {condition}"
                raise ValueError(message)

    @property
    def principal(self) -> str:
        """The principal that a broker sees; empty if only the broker can tell."""
        if self.sasl_username:
            return f"User:{self.sasl_username}"
        return "" if self.sasl_mechanism or self.ssl_certificate_location else "User:ANONYMOUS"

    @property
    def has_former_secret(self) -> bool:
        """Whether a secret was in former `client_options`: its file goes with this process."""
        return any(FORMER_FOLDER in getattr(self, f"{name}_file") for name in _SECRETS)

    def librdkafka(self) -> dict[str, str]:
        """
        Return the options of a librdkafka client, secrets included: not for logs, plans or arguments.

        Raises:
            WrongUseError: a file cannot be read.

        """
        named = {name: getattr(self, name) for name in _TEXTS}
        named |= {name: self._readable(name) for name in _LOCATIONS if getattr(self, name)}
        named |= {name: self._secret(f"{name}_file") for name in _SECRETS if getattr(self, f"{name}_file")}
        options = {name.replace("_", "."): value for name, value in named.items() if value}
        if self.ssl_endpoint_identification_algorithm == "none":
            options["ssl.endpoint.identification.algorithm"] = "none"
        if self.sasl_mechanism == _OAUTH:
            options["sasl.oauthbearer.method"] = "oidc"
        return options

    def java(self) -> dict[str, str]:
        """
        Return the properties of a client of Kafka's Java library, secrets included; {} for PLAINTEXT.

        Raises:
            WrongUseError: a file cannot be read, or the key is in a form that Java does not read.

        """
        if self.security_protocol == "PLAINTEXT":
            return {}
        properties: dict[str, str] = {"security.protocol": self.security_protocol}
        if self.ssl_ca_location:
            properties |= self._trust("ssl_ca_location")
        if self.ssl_certificate_location:
            chain = self._text("ssl_certificate_location")
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain}
            properties["ssl.keystore.key"] = self._pkcs8()
        if self.ssl_key_password_file:
            properties["ssl.key.password"] = self._secret("ssl_key_password_file")
        if self.ssl_endpoint_identification_algorithm == "none":
            properties["ssl.endpoint.identification.algorithm"] = ""
        if self.sasl_mechanism:
            properties |= {"sasl.mechanism": self.sasl_mechanism, "sasl.jaas.config": self._jaas()}
        if self.sasl_mechanism == _OAUTH:
            properties |= {
                "sasl.login.callback.handler.class": _OAUTH_LOGIN,
                "sasl.oauthbearer.token.endpoint.url": self.sasl_oauthbearer_token_endpoint_url,
            }
        return properties

    def spark(self, file: Path) -> dict[str, str]:
        """
        Return the options of Spark's Kafka source: each value is a reference into `file`, from `java_file`.

        Kafka's client resolves the references, so a query plan contains no secret and no name.
        """
        properties = self.java()
        if not properties:
            return {}
        provider = {"kafka.config.providers": "file", "kafka.config.providers.file.class": _PROVIDER}
        return provider | {f"kafka.{name}": f"${{file:{file}:{name}}}" for name in properties}

    @property
    def java_system_properties(self) -> dict[str, str]:
        """The system properties that a JVM of this client needs; they contain no secret."""
        url = self.sasl_oauthbearer_token_endpoint_url
        return {_ALLOWED_URLS: url} if url else {}

    @property
    def java_options(self) -> tuple[str, ...]:
        """`java_system_properties` as arguments of `java`."""
        return tuple(f"-D{name}={value}" for name, value in self.java_system_properties.items())

    def _jaas(self) -> str:
        """Return the login module and its options, as a JAAS configuration."""
        if self.sasl_mechanism == _OAUTH:
            options = {
                "clientId": self.sasl_oauthbearer_client_id,
                "clientSecret": self._secret("sasl_oauthbearer_client_secret_file"),
                "scope": self.sasl_oauthbearer_scope,
            }
            if self.https_ca_location:
                options |= self._trust("https_ca_location")
        else:
            options = {"username": self.sasl_username, "password": self._secret("sasl_password_file")}
        words = [f"{name}={_quoted(value)}" for name, value in options.items() if value]
        return f"{_MODULES[self.sasl_mechanism]} required {' '.join(words)};"

    def _trust(self, name: str) -> dict[str, str]:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": self._readable(name)}

    def _pkcs8(self) -> str:
        key = self._text("ssl_key_location")
        if not _is_readable(key):
            file = self.ssl_key_location
            message = (
                f"ssl_key_location = {file!r}: Kafka's client on Java 17 reads a key only as PKCS#8, and an "
                f"encrypted one only in PBES1. Convert it: openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in {file} "
                "-out NEW, or with -nocrypt instead of -v1 and its value"
            )
            raise WrongUseError(message)
        return key

    def _secret(self, name: str) -> str:
        secret = self._text(name).rstrip("\r\n")
        if not secret:
            message = f"{name} = {getattr(self, name)!r} is empty: it must contain the secret alone"
            raise WrongUseError(message)
        return secret

    def _readable(self, name: str) -> str:
        """Return a path; librdkafka's and Java's messages about a missing file do not name the setting."""
        self._text(name)
        return str(getattr(self, name))

    def _text(self, name: str) -> str:
        try:
            return Path(getattr(self, name)).read_text(encoding="utf-8")
        except OSError as error:
            message = f"{name} = {getattr(self, name)!r} cannot be read: {error.strerror}"
            raise WrongUseError(message) from error
        except UnicodeDecodeError:  # its text would quote bytes of the secret
            message = f"{name} = {getattr(self, name)!r} is not UTF-8 text"
            raise WrongUseError(message) from None


PLAINTEXT = KafkaSecurity()
"""No login and no encryption."""


@contextmanager
def java_file(security: KafkaSecurity) -> Iterator[Path]:
    """
    Yield a properties file for Kafka's Java tools with mode 0600; it is removed with the block.

    Raises:
        WrongUseError: a file of the settings cannot be read.

    """
    lines = [f"{name}={_escaped(value)}\n" for name, value in security.java().items()]
    with tempfile.TemporaryDirectory(prefix="plumbline-kafka-") as folder:
        path = Path(folder) / "client.properties"
        _write_private(path, "".join(lines))
        yield path


FORMER_OPTIONS = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_username",
    "sasl.password": "sasl_password_file",
    "ssl.ca.location": "ssl_ca_location",
    "ssl.certificate.location": "ssl_certificate_location",
    "ssl.key.location": "ssl_key_location",
    "ssl.key.password": "ssl_key_password_file",
    "ssl.endpoint.identification.algorithm": "ssl_endpoint_identification_algorithm",
    "sasl.oauthbearer.token.endpoint.url": "sasl_oauthbearer_token_endpoint_url",
    "sasl.oauthbearer.client.id": "sasl_oauthbearer_client_id",
    "sasl.oauthbearer.client.secret": "sasl_oauthbearer_client_secret_file",
    "sasl.oauthbearer.scope": "sasl_oauthbearer_scope",
    "https.ca.location": "https_ca_location",
}
FORMER_FOLDER = "plumbline-former-"


def take_former(options: dict[str, Any]) -> dict[str, Any]:
    """
    Move the login out of former `client_options`, which are read for one more version.

    A password in them moves to a file that only this user can read, and that goes with the process.
    """
    taken = {FORMER_OPTIONS[name]: options.pop(name) for name in list(options) if name in FORMER_OPTIONS}
    for name in ("security_protocol", "sasl_mechanism"):  # librdkafka takes them in any case
        if name in taken:
            taken[name] = str(taken[name]).upper()
    if taken.get("ssl_endpoint_identification_algorithm") == "":  # as Java spells it
        taken["ssl_endpoint_identification_algorithm"] = "none"
    for name in (f"{name}_file" for name in _SECRETS):
        if name in taken:
            folder = tempfile.TemporaryDirectory(prefix=FORMER_FOLDER)
            atexit.register(folder.cleanup)
            taken[name] = _write_private(Path(folder.name) / name, str(taken[name]))
    return taken


def _write_private(path: Path, text: str) -> str:
    """Write a new file with mode 0600; return its path."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return str(path)


def _is_readable(key: str) -> bool:
    found = _READABLE_KEY.search(key)
    try:
        return found is not None and _PBES2 not in base64.b64decode(found[1])
    except ValueError:
        return False


def _quoted(text: str) -> str:
    r"""
    Return a value as a quoted string of a JAAS configuration.

    >>> print(_quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    r"""
    Return a value of a Java properties file: ASCII, in one line.

    >>> _escaped(" a\\b\n\u20ac\U0001f600")
    '\\ a\\\\b\\n\\u20ac\\ud83d\\ude00'
    """
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escaped = "".join(special.get(letter, letter) for letter in text)
    if escaped.startswith(" "):
        escaped = f"\\{escaped}"
    units = memoryview(escaped.encode("utf-16-le")).cast("H")
    return "".join(chr(unit) if chr(unit).isascii() else f"\\u{unit:04x}" for unit in units)
