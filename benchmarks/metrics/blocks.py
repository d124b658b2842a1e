"""The samples in blocks of a real Prometheus, made by its own promtool, weighed, and read back."""

import math
import re
import shutil
import subprocess
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.metrics.samples import Head, Samples, is_same, ordered

NS_A_MS = 1_000_000
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class InBlocks:
    """Bytes of whole block folders, and what of them is index and chunks."""

    total: int
    index: int
    chunks: int
    blocks: int
    is_lossless: bool


def in_blocks(held: Samples, folder: Path, *, longest: str) -> InBlocks:
    """
    Make blocks that span at most `longest`: 2h is what a server's head makes, 24h what it merges them to.

    A series has the labels `instance` and `job` besides, which a server adds; instants are cut to the
    milliseconds that a server holds.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text, data = folder / "samples.txt", folder / "data"
    with text.open("w") as out:
        out.writelines(_lines(held))
    command = ["promtool", "tsdb", "create-blocks-from", "--quiet", f"--max-block-duration={longest}"]
    subprocess.run([*command, "openmetrics", str(text), str(data)], check=True, stdout=subprocess.DEVNULL)
    text.unlink()
    files = [file for file in data.rglob("*") if file.is_file()]
    return InBlocks(
        total=_bytes(files),
        index=_bytes([file for file in files if file.name == "index"]),
        chunks=_bytes([file for file in files if file.parent.name == "chunks"]),
        blocks=len(list(data.glob("*/meta.json"))),
        is_lossless=_is_lossless(held, data),
    )


def _lines(held: Samples) -> Iterator[str]:
    heads = [_with_labels(head) for head in held.heads]
    for page in held.pages:
        at_ms = page.at_ns // NS_A_MS
        at = f"{at_ms // 1_000}.{at_ms % 1_000:03}"
        samples = zip(page.series.tolist(), page.values.tolist(), strict=True)
        yield "".join(f"{heads[series]} {_number(value)} {at}\n" for series, value in samples)
    yield "# EOF\n"


def _with_labels(head: Head) -> str:
    node, series = head
    name, _, labels = series.removesuffix("}").partition("{")
    return f'{name}{{{labels.rstrip(",")}{"," if labels else ""}instance="{node}",job="kafka"}}'


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _is_lossless(held: Samples, data: Path) -> bool:
    """Compare every sample with what `promtool tsdb dump` reads from the blocks."""
    numbers = {_key(_with_labels(head)): nth for nth, head in enumerate(held.heads)}
    known: dict[str, int] = {}
    series, at, values = array("q"), array("q"), array("d")
    (data / "wal").mkdir()  # promtool wants to see a server's folder
    command = ["promtool", "tsdb", "dump", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout or ():
            head, value, at_ms = line.rsplit(" ", 2)
            if head not in known:
                known[head] = numbers[_key(head)]
            series.append(known[head])
            at.append(int(at_ms))
            values.append(float(value))
    found = ordered(np.frombuffer(series, np.int64), np.frombuffer(at, np.int64), np.frombuffer(values))
    return dump.returncode == 0 and is_same(held.in_order(NS_A_MS), found)


def _key(head: str) -> frozenset[tuple[str, str]]:
    """Return the labels of a series, whatever their order."""
    name, _, _ = head.partition("{")
    labels = dict(LABEL.findall(head))
    return frozenset((labels | ({"__name__": name} if name else {})).items())


def _bytes(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)
