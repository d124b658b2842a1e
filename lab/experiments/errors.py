"""The error that ends an experiment. Its message says what to do."""

from conf.exit_codes import CommandError


class ExperimentError(CommandError):
    """The experiment cannot continue. Finished runs stay."""
