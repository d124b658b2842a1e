"""The runs of an experiment, block by block; what was finished is not run again."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collectors.errors import CollectorError
from collectors.perf_test.run import Run, RunRecording, command
from collectors.screen import Screen
from lab.clients.producer import Producer, Work, arguments_of
from lab.errors import LabError
from lab.experiments.errors import ExperimentError, Stopped
from lab.experiments.kept import Folder, Unit, last_lines
from lab.experiments.left import Left
from lab.experiments.one_run import LOOK_EVERY_S, run_tool
from lab.experiments.place import Place
from lab.experiments.plan import Plan

TRIES = 2


@dataclass(slots=True)
class Runner:
    """What the runs of one experiment have in common; its folder is held alone by whoever calls."""

    plan: Plan
    place: Place
    folder: Folder
    screen: Screen
    node: str
    _topic: str = ""

    def run(self) -> None:
        """
        Run what is not finished yet.

        Raises:
            ExperimentError: a run failed twice, or the place does not do its part.
            Stopped: a signal came; the run that was cut off is set aside.

        """
        tidy(self.folder, self.screen.note)
        done = self.folder.finished()
        todo = [unit for unit in self.plan.units() if unit not in done]
        total = sum(1 for _ in self.plan.units())
        if len(todo) < total:
            self.screen.note(f"{total - len(todo)} of {total} runs are finished, {len(todo)} are left")
        if not todo:
            return
        left = Left(self.plan.experiment, runs=total, done=total - len(todo))
        self.place.begin()
        try:
            for nth, unit in enumerate(todo):
                if nth:
                    self._cool_down(left)
                self._one(unit, left)
                is_last = nth + 1 == len(todo) or todo[nth + 1][0] != unit[0]
                if is_last and not self.plan.experiment.load.topic:
                    self._drop(self.plan.topic(unit[0]))
        finally:
            self.place.end()
        self.screen.show(f"all {total} runs are finished")

    def _one(self, unit: Unit, left: Left) -> None:
        """Run one arm; where it fails, once more."""
        for nth in range(1, TRIES + 1):
            failure = self._tried(unit, left)
            if failure is None:
                return
            if nth < TRIES:
                self.screen.note(f"{failure}\nit is tried once more")
                self._cool_down(left)
        message = f"{failure}\nfailed {TRIES} times; mend it and give the same command again to go on"
        raise ExperimentError(message)

    def _tried(self, unit: Unit, left: Left) -> str | None:
        block, arm = unit
        topic = self.plan.topic(block)
        self._make(topic)
        run = self._run_of(unit)
        file, began_at = self.folder.new_file(run), time.monotonic()
        errors, arguments = self.folder.errors_of(file), self._arguments(unit)
        where = f"block {int(block.rpartition('-')[2])} of {len(self.plan.order)}, {arm}"

        def show() -> None:
            self.screen.show(left.said(where, time.monotonic() - began_at))

        told = RunRecording(run=run, node=self.node, file=file, errors=errors)
        try:
            tool = command(run.client_version, arguments)
            run_tool(tool, arguments, told, self.folder, show)
        except CollectorError as error:
            raise ExperimentError(str(error)) from error
        except Stopped:
            tidy(self.folder, self.screen.note)
            raise
        if (reason := self.folder.shortcoming(file)) is None:
            errors.unlink(missing_ok=True)
            left.count(time.monotonic() - began_at)
            self.screen.note(f"{where}: {summary(file)}")
            return None
        said = last_lines(file, errors)
        return f"{where}: the run {reason}, kept in {self.folder.set_aside(file, 'failed')}:\n{said}"

    def _make(self, topic: str) -> None:
        """Make a block's own topic; one that was stopped half-way has it."""
        load = self.plan.experiment.load
        if topic not in (load.topic, self._topic) and not self.place.has_topic(topic):
            self.place.make_topic(topic, load)
        self._topic = topic

    def _run_of(self, unit: Unit) -> Run:
        block, arm = unit
        of = self.plan.experiment
        version = self.plan.arm(arm).client_version
        return Run(run=block, arm=arm, scenario=of.name, client_version=version, warm_up_s=of.warm_up_s)

    def _arguments(self, unit: Unit) -> list[str]:
        of, arm = self.plan.experiment, self.plan.arm(unit[1])
        work = Work(
            scenario=of.name,
            run=unit[0],
            topic=self.plan.topic(unit[0]),
            records_per_s=of.load.records_per_s,
            for_s=of.warm_up_s + of.for_s,
            record_size_bytes=of.load.record_size_bytes,
            warm_up_s=of.warm_up_s,
        )
        producer = Producer(arm=arm.name, client_version=arm.client_version, properties=arm.properties)
        return [*self.place.arguments, *arguments_of(self.place.bootstrap_servers, producer, work)]

    def _cool_down(self, left: Left) -> None:
        began_at = time.monotonic()
        while (passed_s := time.monotonic() - began_at) < self.plan.experiment.cool_down_s:
            self.screen.show(left.pause(passed_s))
            time.sleep(LOOK_EVERY_S)

    def _drop(self, topic: str) -> None:
        """Delete a block's own topic; one that stays is a nuisance and no failure."""
        try:
            self.place.drop_topic(topic)
        except (LabError, ExperimentError) as error:
            self.screen.note(f"topic {topic} is left: {error}")


def tidy(folder: Folder, note: Callable[[str], None]) -> None:
    """End a tool without its experiment and set aside what was not finished."""
    if folder.end_orphan():
        note("ended the producer that a killed experiment had left running")
    for file in folder.unfinished():
        note(f"{file.name} {folder.shortcoming(file)}: not counted, kept as {folder.set_aside(file, 'cut')}")


def summary(file: Path) -> str:
    """Give the tool's own sentence about the whole run, without its instant."""
    lines = file.read_text(errors="replace").splitlines()
    return next(line.split(" ", 1)[1] for line in reversed(lines) if "99.9th" in line)
