"""Folders with telemetry: their user alone can open them."""

from pathlib import Path


def make_private(folder: Path) -> None:
    """
    Create a folder that only its user can open (0700); one that exists keeps its permissions.

    Missing parents are created as the umask says.

    Raises:
        OSError: the folder cannot be created.

    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
