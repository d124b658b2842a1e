"""
Run one real broker where each client logs in: SCRAM-SHA-512, mutual TLS, or OAUTHBEARER, with ACLs.

A principal has the same name with each mechanism, so the ACLs are written once.
"""

import base64
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from conf.kafka_security import KafkaSecurity
from conf.settings import Telemetry
from lab import config, jvm, processes
from lab.cluster import POLL_INTERVAL_S, READY_TIMEOUT_S, alone
from lab.errors import LabError
from lab.ports import free_ports
from lab.secured.keys import Authority
from lab.secured.token_endpoint import AUDIENCE, ISSUER, Signer, token_endpoint
from lab.topics import CHANGE_TIMEOUT_S, KINDS, MAX_MESSAGE, silent_logger

BROKER, NODE, INGEST, SAMPLER, LOAD = "broker-1", "edge-1", "ingest", "sampler", "load"
PRINCIPALS = (NODE, INGEST, SAMPLER, LOAD)
LOAD_TOPIC = "load"
ITERATIONS = 4_096

_TELEMETRY, _OWN = Telemetry().topic_prefix, Telemetry().own_client_prefix
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.BROKER
ACLS = (
    (NODE, _TOPIC, _TELEMETRY, (AclOperation.WRITE,)),
    (INGEST, _TOPIC, _TELEMETRY, (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)),
    (INGEST, _GROUP, _OWN, (AclOperation.READ,)),
    (SAMPLER, _CLUSTER, "kafka-cluster", (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)),
    (LOAD, _TOPIC, LOAD_TOPIC, (AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE)),
)
"""What each principal may do: operations on topics and groups whose name begins with a prefix."""


class Login(StrEnum):
    """The ways to log in, which are the names of the broker's listeners."""

    SCRAM = "SCRAM"
    MTLS = "MTLS"
    OAUTH = "OAUTH"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredBroker:
    """A broker that runs; `keys` has the files of its clients."""

    keys: Path
    ports: dict[str, int]
    token_url: str

    def servers(self, login: Login) -> str:
        """Return the address of a listener."""
        return f"127.0.0.1:{self.ports[login]}"

    def security(self, principal: str, login: Login) -> KafkaSecurity:
        """Return the settings of a client."""
        ca, password = str(self.keys / "ca.pem"), str(self.keys / f"{principal}.password")
        match login:
            case Login.SCRAM:
                return KafkaSecurity(
                    security_protocol="SASL_SSL",
                    ssl_ca_location=ca,
                    sasl_mechanism="SCRAM-SHA-512",
                    sasl_username=principal,
                    sasl_password_file=password,
                )
            case Login.OAUTH:
                return KafkaSecurity(
                    security_protocol="SASL_SSL",
                    ssl_ca_location=ca,
                    sasl_mechanism="OAUTHBEARER",
                    sasl_oauthbearer_token_endpoint_url=self.token_url,
                    sasl_oauthbearer_client_id=principal,
                    sasl_oauthbearer_client_secret_file=password,
                    https_ca_location=ca,
                )
            case Login.MTLS:
                return KafkaSecurity(
                    security_protocol="SSL",
                    ssl_ca_location=ca,
                    ssl_certificate_location=str(self.keys / f"{principal}.pem"),
                    ssl_key_location=str(self.keys / f"{principal}.key"),
                    ssl_key_password_file="" if principal == BROKER else password,
                )


@contextmanager
def secured_broker(state: Path) -> Iterator[SecuredBroker]:
    """
    Start a broker and the mock of its authorization server in a new folder; end both with the block.

    Raises:
        LabError: it did not start; the message quotes its log.

    """
    home, authority = state / "secured", Authority(state / "keys")
    passwords = {name: _password(authority.folder / f"{name}.password") for name in PRINCIPALS}
    for name in PRINCIPALS:
        authority.issue(name, password_file=authority.folder / f"{name}.password")
    broker = authority.issue(BROKER)
    keystore = authority.folder / "broker.keystore.pem"
    keystore.write_text(broker[1].read_text() + broker[0].read_text())
    signer = Signer(authority.folder)
    jwks = signer.key_set.as_uri()
    files = {"keystore": keystore, "ca": authority.certificate, "jwks": jwks}
    token = {"audience": AUDIENCE, "issuer": ISSUER}
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={jwks}"
    with ExitStack() as running:
        with alone():
            ports = dict(zip((*(str(login) for login in Login), "CONTROLLER"), free_ports(), strict=False))
            config.write_secured(home, ports=ports, broker=BROKER, **files, **token)
            jvm.format_secured(home, [_scram(name, password) for name, password in passwords.items()])
            url = running.enter_context(token_endpoint(signer, passwords, broker))
            started = SecuredBroker(keys=authority.folder, ports=ports, token_url=url)
            process = processes.spawn(jvm.secured_broker(home, [allowed]), output=home / "output.txt")
            running.callback(processes.end, [process])
            _prepare(started, process, home)
        yield started


def _prepare(broker: SecuredBroker, process: dict[str, float], home: Path) -> None:
    """Wait for the broker; create its topics and ACLs."""
    login = broker.security(BROKER, Login.MTLS).librdkafka()
    options: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.servers(Login.MTLS), **login}
    admin = AdminClient(options, logger=silent_logger)
    _wait(admin, process, home)
    names = [f"{_TELEMETRY}{kind}" for kind in KINDS]
    topics = [NewTopic(name, 1, 1, config=MAX_MESSAGE) for name in names] + [NewTopic(LOAD_TOPIC, 1, 1)]
    created = admin.create_topics(topics, request_timeout=CHANGE_TIMEOUT_S)
    allowed = admin.create_acls(_bindings(), request_timeout=CHANGE_TIMEOUT_S)
    for one in (*created.values(), *allowed.values()):
        one.result()


def _wait(admin: AdminClient, process: dict[str, float], home: Path) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            admin.list_topics(timeout=1)
        except KafkaException as error:
            ended = processes.find(process) is None
            if ended or time.monotonic() > deadline:
                what = "ended while it started" if ended else f"was not ready within {READY_TIMEOUT_S:g} s"
                lines = processes.tails(home / "logs" / "server.log", home / "output.txt")
                message = f"the secured broker {what} ({error}):\n{lines}"
                raise LabError(message) from error
            time.sleep(POLL_INTERVAL_S)
        else:
            return


def _bindings() -> list[AclBinding]:
    exact, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    return [
        AclBinding(
            kind,
            name,
            exact if kind == _CLUSTER else prefixed,
            f"User:{principal}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for principal, kind, name, operations in ACLS
        for operation in operations
    ]


def _password(file: Path) -> str:
    """Write a new password into a file of mode 0600; it has characters that files and JAAS quote."""
    password = f'canary-{secrets.token_hex(8)}"\\ #=!'
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as made:
        made.write(f"{password}\n")
    return password


def _scram(name: str, password: str) -> str:
    """Return the credential for StorageTool: salted, so the password is in no argument."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    salt_text, salted_text = (base64.b64encode(part).decode() for part in (salt, salted))
    parts = f'name={name},iterations={ITERATIONS},salt="{salt_text}",saltedpassword="{salted_text}"'
    return f"SCRAM-SHA-512=[{parts}]"
