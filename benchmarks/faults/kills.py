"""The random plan of kills, and the record of each kill."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.faults.job import GOLD, INGEST, MAINTAIN, VICTIMS, Job
from engine.process.fail_points import POINTS

STARTING_S, WORKING_S = 10.0, 12.0
START_SHARE = 0.25
"""The share of random kills during the start of a job; the others follow its first finished batch."""

NOT_IN_STEADY_WORK = ("retention-noted",)
"""Points that only a job that deletes old days reaches; the twin would not have the deleted rows."""

IN_TASK = ("task-files-open", "task-files-written")
"""Points inside a task's Python worker. The worker dies, the batch fails, and the ingest ends with 1."""

MOMENTS_MS = {"tasks-running": 300, "checkpoint-begun": 15, "optimize-begun": 100}
"""Points before longer work; half of their kills have a random delay of up to this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A planned kill: at a fail point, or `after_s` after the start or the first finished batch."""

    word: str
    fail_at: str = ""
    victim: str = "all"
    after_s: float = 0.0
    is_at_work: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A kill that happened: seconds and batches since the job's start, and whether a batch was open."""

    word: str
    how: str
    victim: str
    after_s: float
    batches: int
    is_in_batch: bool


def random_kills(dice: random.Random, *, ingest: int, gold: int) -> list[Kill]:
    """Return random kills of both jobs; about a quarter of them hit the start."""

    def draw(word: str) -> Kill:
        is_at_work = dice.random() >= START_SHARE
        after_s = dice.uniform(0.2, WORKING_S if is_at_work else STARTING_S)
        victim = dice.choices(VICTIMS, weights=(2, 1, 1))[0]
        return Kill(word=word, victim=victim, after_s=after_s, is_at_work=is_at_work)

    return [draw(word) for word, n in ((INGEST, ingest), (GOLD, gold)) for _ in range(n)]


def named_kills(dice: random.Random) -> list[Kill]:
    """Return one kill for each named point, in random order, some with a delay."""
    kills = []
    for point in NAMED:
        after_ms = dice.choice([0, dice.randrange(1, MOMENTS_MS[point])]) if point in MOMENTS_MS else 0
        count = dice.randint(1, 3) if is_frequent(point) else 1
        kills.append(
            Kill(word=job_of(point), fail_at=f"{point}:{count}" + (f"+{after_ms}" if after_ms else ""))
        )
    dice.shuffle(kills)
    return _checkpoints_later(kills)


def _checkpoints_later(kills: list[Kill]) -> list[Kill]:
    """Move another ingest point first: only existing tables can be set to checkpoint often."""
    first = next(kill for kill in kills if kill.word == INGEST and not kill.fail_at.startswith("checkpoint"))
    return [first, *(kill for kill in kills if kill is not first)]


def few_kills(dice: random.Random, *, of_each: int) -> list[Kill]:
    """Return `of_each` named kills of each job, and one random kill each of ingest and gold."""
    named = named_kills(dice)
    few = [kill for word in (INGEST, GOLD, MAINTAIN) for kill in of_job(word, named)[:of_each]]
    return [*few, *random_kills(dice, ingest=1, gold=1)]


def job_of(point: str) -> str:
    """Return the job that reaches a fail point."""
    if point.startswith(("optimize", "retention")):
        return MAINTAIN
    return GOLD if point.startswith("gold") else INGEST


def is_frequent(point: str) -> bool:
    """Return whether every batch reaches the point, so that a kill can wait for a later time."""
    return job_of(point) != MAINTAIN and not point.startswith("checkpoint")


NAMED = tuple(point for point in POINTS if point not in NOT_IN_STEADY_WORK)
HAS_MAINTENANCE = any(job_of(point) == MAINTAIN for point in NAMED)


def is_in_task(kill: Kill) -> bool:
    """Return whether the kill hits a task's Python worker instead of the job's own process."""
    return kill.fail_at.partition(":")[0] in IN_TASK


def victim_of(kill: Kill) -> str:
    """Return the process that dies."""
    if not kill.fail_at:
        return kill.victim
    return "worker" if is_in_task(kill) else "python"


def hit_of(job: Job, kill: Kill, how: str) -> Hit:
    return Hit(
        word=kill.word,
        how=how,
        victim=victim_of(kill),
        after_s=round(time.monotonic() - job.started_at, 1),
        batches=job.batches,
        is_in_batch=job.is_in_batch,
    )


def of_job(word: str, kills: Sequence[Kill]) -> list[Kill]:
    return [kill for kill in kills if kill.word == word]
