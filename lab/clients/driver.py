"""Clients that are no performance test: small Java programs beside this file, with any release's jars."""

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
class Driver:
    """One program with its arguments, as a client of one release."""

    program: str
    client_version: str
    client_id: str
    bootstrap_servers: str
    arguments: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        """Its command line: the program is compiled as it starts."""
        jars = jvm.class_path(self.client_version)
        told = {"bootstrap.servers": self.bootstrap_servers, "client.id": self.client_id, **self.properties}
        return [
            *(jvm.java(), *OPTIONS, "-cp", jars, str(FOLDER / f"{self.program}.java")),
            *(*self.arguments, *(f"{key}={value}" for key, value in told.items())),
        ]


class Drivers:
    """Several of them side by side; the caller does its part and then waits for them."""

    def __init__(self, drivers: Iterable[Driver]) -> None:
        """Start them."""
        self._all = [(driver, _start(driver.command)) for driver in drivers]

    def __enter__(self) -> Self:
        """Give it as it is."""
        return self

    def __exit__(self, *_told: object) -> None:
        """End those that are still there."""
        for _driver, process in self._all:
            process.kill()
            process.communicate()

    def wait(self, patience_s: float) -> None:
        """
        Return when all have ended.

        Raises:
            LabError: one failed, or has not ended in time; what it printed is quoted.

        """
        for driver, process in self._all:
            try:
                said, _ = process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired as error:
                message = f"the client {driver.client_id} has not ended within {patience_s:g} s"
                raise LabError(message) from error
            if process.returncode:
                message = f"the client {driver.client_id} failed:\n{said[-2000:]}"
                raise LabError(message)


def _start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
