"""Where the Java side is: the `java` program, and the jars that `make setup` and `make lab` fetched."""

import os
import re
import shutil

from conf.settings import PROJECT

JARS = PROJECT / ".jars"
CLIENT_JAR = re.compile(r"kafka-clients-(.+)\.jar")
BROKERS = "kafka"
"""The folder of the lab's own release; other releases are in `kafka-VERSION`."""


def java() -> str:
    """
    Return the java program: JAVA_HOME's, else the one on the path.

    Raises:
        FileNotFoundError: there is none.

    """
    home = os.environ.get("JAVA_HOME")
    found = (shutil.which("java", path=f"{home}/bin") if home else None) or shutil.which("java")
    if found is None:
        message = "no `java` found: install Java 17 or set JAVA_HOME"
        raise FileNotFoundError(message)
    return found


def class_path(version: str | None = None) -> str:
    """
    Return the class path of a Kafka release; without one, of the lab's own.

    Raises:
        FileNotFoundError: the jars are missing; the message names the command that fetches them.

    """
    is_other = version is not None and version != brokers_version()
    folder = JARS / (f"{BROKERS}-{version}" if is_other else BROKERS)
    if not any(folder.glob("kafka*.jar")):
        message = f"no Kafka jars in {folder}: fetch them with `make setup`"
        raise FileNotFoundError(missing_client(version) if version else message)
    return f"{folder}/*"


def missing_client(client_version: str) -> str:
    """Return the error message for a Kafka release whose jars are missing, with what to do."""
    present = ", ".join(client_versions()) or "none"
    return (
        f"no jars of Kafka {client_version} in {JARS} (present: {present}): run `make lab`, which fetches "
        "the releases that CLIENTS and BROKERS in the Makefile list"
    )


def client_versions() -> list[str]:
    """Return the releases whose clients are present, including the lab's own."""
    others = {path.name.removeprefix(f"{BROKERS}-") for path in JARS.glob(f"{BROKERS}-*")}
    return sorted(others | {own} if (own := brokers_version()) else others)


def brokers_version() -> str | None:
    """Return the lab's own release, as its jars are named; None before they were fetched."""
    named = (CLIENT_JAR.fullmatch(path.name) for path in JARS.glob(f"{BROKERS}/*"))
    return next((jar[1] for jar in named if jar), None)
