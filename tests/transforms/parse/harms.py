"""Ways to spoil a line, each a function of the line, another line and dice: the same dice, the same bytes."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

Harm = Callable[[bytes, bytes, Random], bytes]

JUNK = (
    b"\x00", b"\x01", b"\r", b"\n", b"\xff", b"\xed\xa0\x80", "☃".encode(), b"\\ud800", b"\\u0000",
    b"NaN", b"Infinity", b"1e400", b"-1", b"null", b"true", b'"', b"{", b"}", b"{}", b"[", b"]", b",", b" ",
    b"()", b'"":', b',"totalTimeMs":1', b'"request":""', b" from connection ", b"Completed request:",
    b"Completed request:RequestHeader(", b" with header RequestHeader(", b" (kafka.request.logger)",
    b"2026-11-21T09:19:28Z DEBUG ", b", correlationId=7", b"[ReplicaFetcher replicaId=2] Sending ",
    b" starts at leader epoch ", b" (under-min-isr)", b" Current leader is 3.", b", ISR [1],",
    b"7 records sent, ", b" steady state", b" ms max latency.", b", 9 ms 99.9th.", b"-metrics:count:{",
    b"} : 1.000", b", topic=", b'{"plumbline_run":{', b'"run":"r2",', b'"started_at":7,',
)  # fmt: skip
NUMBER, WORD, JOINT = re.compile(rb"\d+(?:\.\d+)?"), re.compile(rb"[A-Za-z]{3,}"), re.compile(rb"[,)}\]]")
LOCAL = (b"1.234,5", b"1,234.5", b"1,234", b"1.234", b"49,9", "٤٩".encode(), b"- 1")
"""Numbers as they are written elsewhere: thousands parted, a decimal comma, other digits."""

DIGITS = DEPTH = 2_000


def untouched(line: bytes, _other: bytes, _dice: Random) -> bytes:
    """Give the line as it is."""
    return line


def cut_behind(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Keep the start, as a crash does."""
    return line[: dice.randint(0, len(line))]


def cut_at_a_joint(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Keep the start up to where a part ends: what is left may look whole."""
    joints = [joint.start() for joint in JOINT.finditer(line)]
    return line[: dice.choice(joints)] if joints else line


def cut_before(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Keep the end, as a copy-truncate does."""
    return line[dice.randint(0, len(line)) :]


def cut_out(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Lose a piece."""
    start, end = _span(line, dice)
    return line[:start] + line[end:]


def repeated(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Write a piece twice: keys, values, objects."""
    start, end = _span(line, dice)
    return line[:end] + line[start:]


def swapped(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Exchange two neighbouring pieces."""
    start, end = _span(line, dice)
    middle = dice.randint(start, end)
    return line[:start] + line[middle:end] + line[start:middle] + line[end:]


def flipped(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Change one to eight bytes."""
    spoiled = bytearray(line)
    for _ in range(dice.randint(1, 8) if line else 0):
        spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
    return bytes(spoiled)


def littered(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Put one to three words in between that mean something to a reader."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randint(0, len(line))
        line = line[:at] + dice.choice(JUNK) + line[at:]
    return line


def in_another_case(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Exchange upper and lower case somewhere."""
    start, end = _span(line, dice, longest=40)
    return line[:start] + line[start:end].swapcase() + line[end:]


def with_another_number(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Write another number in place of one: one of 2,000 digits, one below 0, none at all."""
    found = list(NUMBER.finditer(line))
    if not found:
        return line
    start, end = dice.choice(found).span()
    number = dice.choice(
        [b"9" * DIGITS, b"0." + b"3" * DIGITS, b"-7", b"1e400", b"NaN", b'"1"', b"[1]", b"", *LOCAL]
    )
    return line[:start] + number + line[end:]


def nested(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Open 2,000 lists or objects in place of a value, closed or not."""
    opened, closed = dice.choice([(b"[", b"]"), (b'{"a":', b"}")])
    deep = opened * DEPTH + dice.choice([b"", b"1" + closed * DEPTH])
    at = line.rfind(b":", 0, dice.randint(0, len(line))) + 1
    return line[:at] + deep + b"," + line[at:]


def joined(line: bytes, other: bytes, _dice: Random) -> bytes:
    """Two lines in one."""
    return line + other


def spliced(line: bytes, other: bytes, dice: Random) -> bytes:
    """Give the start of one line and the end of another: a lost block."""
    return line[: dice.randint(0, len(line))] + other[dice.randint(0, len(other)) :]


def spliced_at_a_word(line: bytes, other: bytes, dice: Random) -> bytes:
    """Give the start of one line up to a word, and the end of another from that word on."""
    words = sorted({*WORD.findall(line)} & {*WORD.findall(other)})
    word = dice.choice(words or [b""])
    return line[: line.find(word)] + other[other.find(word) :]


def interleaved(line: bytes, other: bytes, dice: Random) -> bytes:
    """Write one line into the middle of another: two writers of one file."""
    at = dice.randint(0, len(line))
    return line[:at] + other + line[at:]


def noise(line: bytes, _other: bytes, dice: Random) -> bytes:
    """Give bytes without any meaning."""
    return dice.randbytes(dice.randint(0, min(len(line), 300)))


HARMS: tuple[Harm, ...] = (
    untouched, cut_behind, cut_at_a_joint, cut_before, cut_out, repeated, swapped, flipped, littered,
    in_another_case, with_another_number, nested, joined, spliced, spliced_at_a_word, interleaved, noise,
)  # fmt: skip


def _span(line: bytes, dice: Random, longest: int = 10_000) -> tuple[int, int]:
    start = dice.randint(0, len(line))
    return start, min(len(line), start + dice.randint(0, min(longest, len(line))))


def documented_reasons(page: Path) -> set[str]:
    """Give the reasons that `docs/quarantine.md` explains: the first column of its table."""
    return set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE))


def parts_add_up(row: "dict[str, float]", flags: Iterable[str]) -> bool:
    """Tell whether the five parts of a request make its total, each cut to microseconds, or it is flagged."""
    names = ("request_queue_ms", "local_ms", "remote_ms", "response_queue_ms", "send_ms")
    gap_ms = row["total_ms"] - sum(row[name] for name in names)
    return -1e-6 <= gap_ms <= 0.005 + 1e-6 or "parts_do_not_add_up" in flags
