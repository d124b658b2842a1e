"""Properties of the parsers held by hundreds of drawn batches: too long for a run of the tests."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conf.settings import PROJECT
from tests.transforms.parse import test_conservation

FILES = (PROJECT / "conftest.py",)
"""Files that the tests below depend on without an import."""

LAST_WORDS = 600


def drawn_batches(_bootstrap_servers: str, _folder: Path, dice: random.Random) -> list[str]:
    """Draw batches of spoiled lines: each line is kept, quarantined or skipped, and none is made up."""
    return ended_well(Path(test_conservation.__file__), seed=dice.randrange(2**32))


def ended_well(tests: Path, *, seed: int) -> list[str]:
    """Run the marked tests of a file; return how they ended unless all have passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "faults", "-p", "no:cacheprovider"]
    done = subprocess.run(  # noqa: PLW1510 (the exit code is the result)
        [*command, f"--hypothesis-seed={seed}", str(tests)], cwd=PROJECT, capture_output=True, text=True
    )
    failure = f"{tests.name} ended with {done.returncode}: {done.stdout[-LAST_WORDS:]}"
    return [failure] if done.returncode else []


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {"drawn batches": drawn_batches}
