"""The machine, tree and date of a measurement, which every state file has."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from conf.settings import PROJECT

CPUINFO = Path("/proc/cpuinfo")


def described(*, is_short: bool) -> dict[str, object]:
    """Return the machine, tree and date of this run."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "cpu": _cpu_model(),
        "kernel": platform.release(),
        "load_before": round(psutil.getloadavg()[0], 2),
        "tree": tree(),
        "is_changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "measured_on": datetime.now(UTC).date().isoformat(),
        "is_short": is_short,
    }


def tree(checkout: Path = PROJECT) -> str:
    """Return the commit of a checkout; empty without git."""
    return _git("-C", str(checkout), "rev-parse", "--short", "HEAD")


def measured_on(meta: Mapping[str, Any], verb: str = "Measured") -> str:
    """Return the sentence with date, tree and machine of a measurement."""
    changed = " with uncommitted changes" if meta["is_changed"] else ""
    return (
        f"{verb} on {meta['measured_on']}, tree `{meta['tree']}`{changed}: {meta['cores']} cores "
        f"({meta['cpu']}), {meta['memory_gib']} GiB, load before {meta['load_before']}."
    )


def _cpu_model() -> str:
    lines = CPUINFO.read_text().splitlines() if CPUINFO.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")


def _git(*words: str) -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    done = subprocess.run([git, *words], cwd=PROJECT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
