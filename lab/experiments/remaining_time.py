"""Estimate the remaining time of an experiment while it runs."""

from statistics import fmean

from lab.experiments.spec import Experiment

START_S = 2.0
"""Estimated seconds that a run needs in addition to its load, until the first run is measured."""


class RemainingTime:
    """Counts the runs and measures how long one takes."""

    def __init__(self, experiment: Experiment, *, runs: int, done: int) -> None:
        """Start without a measured run."""
        self._runs, self._done, self._seen_s = runs, done, list[float]()
        self._requested_s, self._pause_s = experiment.warm_up_s + experiment.for_s, experiment.cool_down_s

    def count(self, run_s: float) -> None:
        """Count a finished run and record its duration."""
        self._done += 1
        self._seen_s.append(run_s)

    def run_line(self, what: str, passed_s: float) -> str:
        """Return a line with the progress of the current run and the remaining time of the experiment."""
        left_s = self._left_s() - min(passed_s, self._run_s())
        how_far = f"run {self._done + 1} of {self._runs}, {passed_s:.0f} of {self._run_s():.0f} s"
        return f"{what}: {how_far}; {duration(left_s)} left"

    def pause_line(self, passed_s: float) -> str:
        """Return the same line for the pause between two runs."""
        left_s = self._left_s() + self._pause_s - passed_s
        return f"cooling down: {passed_s:.0f} of {self._pause_s:g} s; {duration(left_s)} left"

    def _run_s(self) -> float:
        return fmean(self._seen_s) if self._seen_s else self._requested_s + START_S

    def _left_s(self) -> float:
        runs = self._runs - self._done
        return runs * self._run_s() + (runs - 1) * self._pause_s


def duration(seconds: float) -> str:
    """
    Format a duration approximately.

    >>> duration(42), duration(340), duration(9000)
    ('about 42 s', 'about 6 min', 'about 2.5 h')
    """
    if seconds < 90:  # noqa: PLR2004 (a minute and a half)
        return f"about {max(seconds, 0):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 90 * 60 else f"about {seconds / 3600:.1f} h"
