"""The exit codes of all commands; docs/recovery.md describes them."""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Why a command ended. A command with codes of its own describes them in its `--help`."""

    FAILED = 1
    WRONG = 2  # wrong settings or options; nothing was done
    GONE = 3  # data that the command needs no longer exists
    HELD = 4  # another process holds the lease
    STATE = 5  # a checkpoint or a table is damaged
    FULL = 6  # the disk is full
    INTERRUPTED = 130


class CommandError(Exception):
    """A failure that ends a command with one line: the message says what is wrong and what to do."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class WrongUseError(CommandError, ValueError):
    """Options or settings are wrong; the message says how to fix them."""

    exit_code = ExitCode.WRONG
