"""What ends an experiment, said in a sentence that names the way out."""


class ExperimentError(Exception):
    """It cannot go on; what was finished stays."""


class WrongError(ExperimentError):
    """What it was told is wrong, and nothing was run."""


class Stopped(KeyboardInterrupt):
    """A signal came."""

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        super().__init__()
        self.number = number
