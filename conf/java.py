"""Where the Java side is: the `java` program, and the jars that `make setup` fetched."""

import os
import re
import shutil

from conf.settings import PROJECT

JARS = PROJECT / ".jars"
CLIENT_JAR = re.compile(r"kafka-clients-(.+)\.jar")
BROKERS = "kafka"
"""The folder of the brokers' own jars; clients of another version are in `kafka-VERSION`."""


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


def class_path(client_version: str | None = None) -> str:
    """
    Return the class path of the clients and tools of a release; without one, of the brokers'.

    Raises:
        FileNotFoundError: the jars were not fetched.

    """
    is_other = client_version is not None and client_version != brokers_version()
    folder = JARS / (f"{BROKERS}-{client_version}" if is_other else BROKERS)
    if not any(folder.glob("kafka*.jar")):
        message = f"no Kafka jars in {folder}: fetch them with `make setup`"
        if client_version:
            known = ", ".join(client_versions()) or "none yet"
            message = f"no jars of Kafka {client_version} here; there are: {known}"
        raise FileNotFoundError(message)
    return f"{folder}/*"


def client_versions() -> list[str]:
    """Name the releases whose clients are there, the brokers' own among them."""
    others = {path.name.removeprefix(f"{BROKERS}-") for path in JARS.glob(f"{BROKERS}-*")}
    return sorted(others | {own} if (own := brokers_version()) else others)


def brokers_version() -> str | None:
    """Return the brokers' release, as its jars are named; None before they were fetched."""
    named = (CLIENT_JAR.fullmatch(path.name) for path in JARS.glob(f"{BROKERS}/*"))
    return next((jar[1] for jar in named if jar), None)
