"""The telemetry files of a folder."""

from pathlib import Path

from collectors.files import FoundFiles, NoSuchFolderError, discover
from conf.exit_codes import WrongUseError
from engine.ingest.raw_files import readable

BROKER_LOGS = (
    "wanted are *request*.log*, *client*.log*, *state-change*.log* and *.prom (scrapes) in folders that end "
    "in the broker's number, as in broker-1/kafka-request.log"
)


def found_in(folder: Path, nodes: dict[str, str], wanted: str = BROKER_LOGS) -> FoundFiles:
    """
    Find the telemetry in a folder; the error for a folder without telemetry ends with `wanted`.

    Raises:
        WrongUseError: there is none, or no folder.

    """
    try:
        found = discover(folder, nodes)
    except NoSuchFolderError as error:
        raise WrongUseError(str(error)) from error
    if not found.understood:
        first = "; ".join(
            f"{readable(path.relative_to(folder))}: {reason}" for path, reason in found.not_understood[:3]
        )
        nothing = "it holds other files of Kafka's" if found.passed_over else "it is empty"
        message = f"no file in {folder} is understood ({first or nothing}); {wanted}"
        raise WrongUseError(message)
    return found
