"""Errors that end an experiment. Their messages say what to do."""


class ExperimentError(Exception):
    """The experiment cannot continue. Finished runs stay."""


class Stopped(KeyboardInterrupt):
    """The experiment received a signal."""

    def __init__(self, number: int) -> None:
        """Store the signal's number."""
        super().__init__()
        self.number = number
