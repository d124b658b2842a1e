"""
The format of a warehouse and of the checkpoints that belong to it: the file `plumbline.json` in its root.

Every writer checks and writes it when it takes its lease, and every reader checks it when it starts.
"""

import json
from pathlib import Path

from conf.atomic_file import write_atomically
from conf.exit_codes import WrongUseError
from conf.version import version

FORMAT = 1
"""
The newest format that this Plumbline reads and writes.

Increment it with a change that an older Plumbline would misread or continue wrongly. Decision 052 says how.
"""

MARK = "plumbline.json"


class WarehouseFormatError(WrongUseError):
    """A newer Plumbline has written the warehouse, or its mark cannot be read; nothing was written."""


def check_format(root: Path) -> None:
    """
    Check that this Plumbline knows the format of a warehouse; one without a mark has format 1.

    Raises:
        WarehouseFormatError: it does not; the message has both versions and says what to do.

    """
    _format_of(root)


def mark_format(root: Path) -> None:
    """
    Check the format of a warehouse, and mark a warehouse that has no mark.

    Raises:
        WarehouseFormatError: as in `check_format`.

    """
    if _format_of(root) is None:
        mark = json.dumps({"format": FORMAT, "plumbline": version()})
        write_atomically(root / MARK, mark + "\n", is_synced=True)


def _format_of(root: Path) -> int | None:
    """Return the format of a warehouse that this Plumbline knows; None without a mark."""
    file = root / MARK
    try:
        mark = json.loads(file.read_text())
        number, writer = int(mark["format"]), str(mark["plumbline"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = (
            f"{file} cannot be read, so the format of this warehouse is unknown: restore the file. If no "
            f"Plumbline newer than {version()} has written here, delete it: the next job writes it again"
        )
        raise WarehouseFormatError(message) from error
    if number > FORMAT:
        message = (
            f"the warehouse {root} has format {number}, which Plumbline {writer} wrote. This is Plumbline "
            f"{version()}, which knows no format above {FORMAT}. Nothing was changed: install Plumbline "
            f"{writer} or newer, or set [warehouse] root and checkpoints to new folders"
        )
        raise WarehouseFormatError(message)
    return number
