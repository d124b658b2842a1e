"""Run small Java programs of this folder as clients, with the jars of any Kafka release."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lab import jvm
from lab.errors import LabError

FOLDER = Path(__file__).parent
OPTIONS = ("-XX:+UseSerialGC", "-Xmx256m")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaClient:
    """One program with its arguments, as a client of one release."""

    program: str
    client_version: str
    client_id: str
    bootstrap_servers: str
    arguments: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        """The command line. Java compiles the program at its start."""
        jars = jvm.class_path(self.client_version)
        settings = {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": self.client_id,
            **self.properties,
        }
        return [
            *(jvm.java(), *OPTIONS, "-cp", jars, str(FOLDER / f"{self.program}.java")),
            *(*self.arguments, *(f"{key}={value}" for key, value in settings.items())),
        ]


class JavaClients:
    """Several clients that run side by side."""

    def __init__(self, clients: Iterable[JavaClient]) -> None:
        """Start the clients."""
        self._all = [(client, _start(client.command)) for client in clients]

    def __enter__(self) -> Self:
        """Return the clients."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Kill the clients that still run."""
        for _client, process in self._all:
            process.kill()
            process.communicate()

    def wait(self, patience_s: float) -> None:
        """
        Return when all clients have ended.

        Raises:
            LabError: a client failed, or did not end in time; the message quotes its output.

        """
        for client, process in self._all:
            try:
                output, _ = process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired as error:
                message = f"the client {client.client_id} did not end within {patience_s:g} s"
                raise LabError(message) from error
            if process.returncode:
                message = f"the client {client.client_id} failed:\n{output[-2000:]}"
                raise LabError(message)


def _start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
