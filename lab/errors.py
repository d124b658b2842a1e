"""The error of the lab. Its message says what is wrong and what to do."""

from conf.exit_codes import CommandError


class LabError(CommandError):
    """An error of the lab that its user can fix."""
