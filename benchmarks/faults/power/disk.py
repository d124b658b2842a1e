"""A folder that loses in a power cut what was not synced: `synced.c` records each fsync of the jobs."""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("synced.c")
NEVER_SYNCED = ("empty", "zeros", "whole")
"""What a power cut can leave of a file whose name is on disk and whose content was never synced."""


def library(folder: Path) -> Path:
    """Compile the library to preload into a folder."""
    compiled = folder.resolve() / "synced.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(compiled), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return compiled


@dataclass(frozen=True, slots=True)
class _Entry:
    key: str
    is_folder: bool


Folder = dict[str, _Entry]
"""The entries of a folder by name."""


class PowerDisk:
    """
    A folder whose power can be cut. Jobs that run with `variables` record what they sync.

    POSIX promises no more: a file's content is on disk after its fsync, its name after its folder's.
    """

    def __init__(self, root: Path, state: Path) -> None:
        """Use an existing folder `root`; `state` holds the library and the records."""
        state.mkdir()
        self.root, self._state, self._library = root.resolve(), state, library(state)
        self.lost = 0  # files and folders of which a cut has taken something
        self.seal()

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment of the jobs."""
        return self._recording(self._state / "synced")

    def cut(self, dice: random.Random) -> None:
        """Leave in the folder what a power cut leaves; all jobs must have been killed before."""
        left = self._state / "left"
        self.leave(left, dice)
        for each in self.root.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        for each in left.iterdir():
            shutil.move(each, self.root / each.name)  # the records may be on another disk
        left.rmdir()
        self.seal()

    def leave(self, left: Path, dice: random.Random) -> None:
        """
        Write into a new folder what a power cut leaves; all jobs must stand still.

        Half of the cuts lose everything that was not synced. The others keep each name and each content with
        one half of probability, as a disk does that has written a part of its cache.
        """
        now = self._state / "now"
        self._sync_all(now, "-type", "d")
        cut = _PowerCut(self._state / "synced", now, dice if dice.random() < 0.5 else None)
        left.mkdir()
        cut.leave(self.root, left)
        self.lost += cut.lost
        shutil.rmtree(now)

    def seal(self) -> None:
        """Sync everything: it survives the next cut."""
        shutil.rmtree(self._state / "synced", ignore_errors=True)
        self._sync_all(self._state / "synced")

    def _sync_all(self, shadow: Path, *which: str) -> None:
        shadow.mkdir()
        command = ["find", str(self.root), *which, "-exec", "sync", "{}", "+"]
        subprocess.run(command, check=True, env=os.environ | self._recording(shadow))

    def _recording(self, shadow: Path) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self._library),
            "POWER_ROOT": str(self.root),
            "POWER_SHADOW": str(shadow.resolve()),
        }


class _PowerCut:
    """One power cut: the records of what was synced and of what is there, and the dice of what survives."""

    def __init__(self, synced: Path, now: Path, dice: random.Random | None) -> None:
        """Without dice, nothing survives that was not synced."""
        self._synced, self._now, self._dice = synced, now, dice
        self.lost = 0

    def leave(self, root: Path, left: Path) -> None:
        """Write what is left of a folder."""
        key = next(file.name[2:] for file in self._now.glob(f"d-{root.stat().st_ino}-*"))
        self._folder(key, root, left)

    def _folder(self, key: str, here: Path | None, left: Path) -> None:
        """Write what is left of a folder; `here` is where it is now, None if it is deleted."""
        synced, now = _entries(self._synced / f"d-{key}"), _entries(self._now / f"d-{key}") if here else {}
        for name in sorted(synced.keys() | now.keys()):
            at = here / name if here else None
            entry = synced.get(name)
            if entry != now.get(name):
                self.lost += 1
                if self._survives():
                    entry = now.get(name)
            if entry is None:
                continue
            is_there = at is not None and entry == now.get(name)
            if entry.is_folder:
                (left / name).mkdir()
                self._folder(entry.key, at if is_there else None, left / name)
            else:
                (left / name).write_bytes(self._content(entry.key, at if is_there else None))

    def _content(self, key: str, here: Path | None) -> bytes:
        synced = self._synced / f"f-{key}"
        content = here.read_bytes() if here else b""
        if synced.exists():
            on_disk = synced.read_bytes()
            if here is None or on_disk == content:
                return on_disk
            self.lost += 1
            return content if self._survives() else on_disk
        self.lost += 1
        how = self._dice.choice(NEVER_SYNCED) if self._dice else "empty"
        return {"empty": b"", "zeros": b"\x00" * len(content), "whole": content}[how]

    def _survives(self) -> bool:
        return self._dice is not None and self._dice.random() < 0.5


def _entries(folder: Path) -> Folder:
    if not folder.exists():
        return {}
    lines = (line.split(" ", 2) for line in folder.read_text().splitlines())
    return {name: _Entry(key, kind == "d") for key, kind, name in lines}
