"""The exit codes of all commands; docs/recovery.md describes them."""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Why a command ended. The verdicts of `compare` have the codes 0 to 3 (`verdicts.overall`)."""

    FAILED = 1  # also the verdict of `check-quality` that a rule failed
    WRONG = 2  # wrong settings or options; nothing was done
    GONE = 3  # data that the command needs no longer exists
    HELD = 4  # another process holds the lock
    STATE = 5  # a checkpoint, a table or the log level of a broker must be repaired
    FULL = 6  # the disk is full
    NO_VERDICT = 7  # `compare` or `check-quality` reached no verdict
    INTERRUPTED = 130


class CommandError(Exception):
    """A failure that ends a command with one line: the message says what is wrong and what to do."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class WrongUseError(CommandError, ValueError):
    """Options or settings are wrong; the message says how to fix them."""

    exit_code = ExitCode.WRONG


class HeldError(CommandError):
    """Another process holds a lock that the command needs."""

    exit_code = ExitCode.HELD


def exit_code_of(error: Exception) -> ExitCode:
    """
    Return the exit code of a command that an error ends.

    >>> exit_code_of(WrongUseError("--for x")).name, exit_code_of(OSError()).name
    ('WRONG', 'FAILED')
    """
    return error.exit_code if isinstance(error, CommandError) else ExitCode.FAILED
