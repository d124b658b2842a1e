"""Run an experiment block by block. Finished runs are not repeated."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collectors.errors import CollectorError
from collectors.perf_test.run import RunDescription, RunRecording, command
from conf.progress import Progress
from lab.clients.producer import Producer, Workload, arguments_of
from lab.errors import LabError
from lab.experiments.errors import ExperimentError
from lab.experiments.place import Place
from lab.experiments.plan import ExperimentPlan
from lab.experiments.remaining_time import RemainingTime
from lab.experiments.run_folder import RunFolder, RunId, last_lines
from lab.experiments.tool_run import POLL_INTERVAL_S, run_tool

MAX_ATTEMPTS = 2


@dataclass(slots=True)
class Runner:
    """Runs one experiment. The caller holds the lock of its folder."""

    plan: ExperimentPlan
    place: Place
    folder: RunFolder
    progress: Progress
    node: str
    _topic: str = ""

    def run(self) -> None:
        """
        Run everything that is not finished.

        Raises:
            ExperimentError: a run failed twice, or the lab or cluster reports an error.
            KeyboardInterrupt: a signal came; the interrupted run is set aside.

        """
        clean_up(self.folder, self.progress.say)
        done = self.folder.finished()
        todo = [run_id for run_id in self.plan.run_ids() if run_id not in done]
        total = sum(1 for _ in self.plan.run_ids())
        if len(todo) < total:
            self.progress.say(f"{total - len(todo)} of {total} runs are finished, {len(todo)} are left")
        if not todo:
            return
        remaining = RemainingTime(self.plan.experiment, runs=total, done=total - len(todo))
        self.place.begin()
        try:
            for nth, run_id in enumerate(todo):
                if nth:
                    self._cool_down(remaining)
                self._one(run_id, remaining)
                is_last = nth + 1 == len(todo) or todo[nth + 1][0] != run_id[0]
                if is_last and not self.plan.experiment.load.topic:
                    self._drop(self.plan.topic(run_id[0]))
        finally:
            self.place.end()
        self.progress.show(f"all {total} runs are finished")

    def _one(self, run_id: RunId, remaining: RemainingTime) -> None:
        """Run one arm, and once more if it fails."""
        for nth in range(1, MAX_ATTEMPTS + 1):
            failure = self._tried(run_id, remaining)
            if failure is None:
                return
            if nth < MAX_ATTEMPTS:
                self.progress.say(f"{failure}\ntrying once more")
                self._cool_down(remaining)
        message = (
            f"{failure}\nfailed {MAX_ATTEMPTS} times. "
            "Fix the cause, then run the same command again to continue"
        )
        raise ExperimentError(message)

    def _tried(self, run_id: RunId, remaining: RemainingTime) -> str | None:
        block, arm = run_id
        topic = self.plan.topic(block)
        self._make(topic)
        run = self._run_of(run_id)
        file, began_at = self.folder.new_file(run), time.monotonic()
        errors, arguments = self.folder.errors_of(file), self._arguments(run_id)
        where = f"block {int(block.rpartition('-')[2])} of {len(self.plan.order)}, {arm}"

        def show() -> None:
            self.progress.show(remaining.run_line(where, time.monotonic() - began_at))

        recording = RunRecording(run=run, node=self.node, file=file, errors=errors)
        try:
            tool = command(run.client_version, arguments, options=self.place.java_options)
            run_tool(tool, arguments, recording, self.folder, show)
        except CollectorError as error:
            raise ExperimentError(str(error)) from error
        except KeyboardInterrupt:
            clean_up(self.folder, self.progress.say)
            raise
        if (reason := self.folder.shortcoming(file)) is None:
            errors.unlink(missing_ok=True)
            remaining.count(time.monotonic() - began_at)
            self.progress.say(f"{where}: {summary_line(file)}")
            return None
        output = last_lines(file, errors)
        return f"{where}: the run {reason}; moved to {self.folder.set_aside(file, 'failed')}:\n{output}"

    def _make(self, topic: str) -> None:
        """Create a block's own topic. It exists already if the block was interrupted."""
        load = self.plan.experiment.load
        if topic not in (load.topic, self._topic) and not self.place.has_topic(topic):
            self.place.make_topic(topic, load)
        self._topic = topic

    def _run_of(self, run_id: RunId) -> RunDescription:
        block, arm = run_id
        spec = self.plan.experiment
        version = self.plan.arm(arm).client_version
        return RunDescription(
            run=block, arm=arm, scenario=spec.name, client_version=version, warm_up_s=spec.warm_up_s
        )

    def _arguments(self, run_id: RunId) -> list[str]:
        spec, arm = self.plan.experiment, self.plan.arm(run_id[1])
        work = Workload(
            scenario=spec.name,
            run=run_id[0],
            topic=self.plan.topic(run_id[0]),
            records_per_s=spec.load.records_per_s,
            for_s=spec.warm_up_s + spec.for_s,
            record_size_bytes=spec.load.record_size_bytes,
            warm_up_s=spec.warm_up_s,
        )
        producer = Producer(arm=arm.name, client_version=arm.client_version, properties=arm.properties)
        return [*self.place.arguments, *arguments_of(self.place.bootstrap_servers, producer, work)]

    def _cool_down(self, remaining: RemainingTime) -> None:
        began_at = time.monotonic()
        while (passed_s := time.monotonic() - began_at) < self.plan.experiment.cool_down_s:
            self.progress.show(remaining.pause_line(passed_s))
            time.sleep(POLL_INTERVAL_S)

    def _drop(self, topic: str) -> None:
        """Delete a block's own topic. A failure is reported and does not end the experiment."""
        try:
            self.place.drop_topic(topic)
        except (LabError, ExperimentError) as error:
            self.progress.say(f"topic {topic} was not deleted: {error}")


def clean_up(folder: RunFolder, note: Callable[[str], None]) -> None:
    """Stop the tool of a killed experiment, and set unfinished runs aside."""
    if folder.end_orphan():
        note("stopped the producer of a killed experiment")
    for file in folder.unfinished():
        note(f"{file.name} {folder.shortcoming(file)}: not counted, moved to {folder.set_aside(file, 'cut')}")


def summary_line(file: Path) -> str:
    """Return the tool's summary of the whole run, without its timestamp."""
    lines = file.read_text(errors="replace").splitlines()
    return next(line.split(" ", 1)[1] for line in reversed(lines) if "99.9th" in line)
