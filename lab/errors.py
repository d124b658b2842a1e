"""The error of the lab. Its message says what is wrong and what to do."""


class LabError(Exception):
    """An error of the lab that its user can fix."""
