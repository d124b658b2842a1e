"""The host of a job: its clock can step and its disk can be slow, while the job runs (`host.c`)."""

import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("host.c")


class JobHost:
    """The clock and the disk of the processes that run with `variables`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Compile the library into a folder, and set the clock to that of this machine."""
        self._library, self._control = folder.resolve() / "host.so", folder.resolve() / f"{name}.control"
        if not self._library.exists():
            command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(SOURCE), "-ldl"]
            subprocess.run(command, check=True)
        self._control.write_bytes(bytes(16))

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment of the processes."""
        return {"LD_PRELOAD": str(self._library), "HOST_CONTROL": str(self._control)}

    def step_clock(self, seconds: float) -> None:
        """Set the clock so much ahead of this machine's; 0: step back."""
        self._put(0, round(seconds * 1e9))

    def slow_syncs(self, seconds: float) -> None:
        """Let each fsync take so much longer; 0: no longer."""
        self._put(8, round(seconds * 1e6))

    def _put(self, at: int, number: int) -> None:
        with self._control.open("rb+", buffering=0) as control:
            control.seek(at)
            control.write(struct.pack("=q", number))
