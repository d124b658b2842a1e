"""Scrapes made by chance, whole and spoiled: the same seed, the same bytes."""

# ruff: noqa: RUF001, E501 (digits of other scripts are what is asked about; lists of words)

from random import Random

TYPES = (
    "counter",
    "gauge",
    "summary",
    "histogram",
    "untyped",
    "unknown",
    "info",
    "stateset",
    "gaugehistogram",
)
WORDS = ("kafka_server", "up", "jvm:memory", "Value", "_x", "request_ms", "bytes_total", "a", "b1", "B")
LABELS = ("name", "request", "topic", "partition", "le", "quantile", "a", "a1", "b", "le_x", "client_id")
VALUES = ("1", "0", "-1", "1.5", "NaN", "+Inf", "-Inf", "1e5", "1.7976931348623157e308", "5e-324", "2.5E-3")
ODD_VALUES = (
    "nan", "inf", "Infinity", "-nan", "+NaN", "+5", "00012", ".5", "1.", "1e400", "1e-400", "9007199254740993",
    "123456789012345678901234567890", "9" * 400, "9" * 4_400, "0.1" + "0" * 30 + "1", "-0", "-0.0", "4.35",
    "1_0", "0x10", "1f", "1d", "1L", "١٢", "１２", "1e", "e5", "+", "-", ".", "++1", "1,5", "NaN5", "", "true",
)  # fmt: skip
TEXTS = (
    "",
    "x",
    "FetchFollower",
    "a b",
    "}",
    "{",
    ",",
    "=",
    "#",
    " # ",
    "é",
    "☃",
    "𝒳",
    "\t",
    "\r",
    "\x01",
    "\x85",
)
ESCAPES = (r"\\", r"\"", r"\n", r"\d", r"\t", "\\\\\\\\")
STAMPS = ("1395066363000", "0", "-1", "1795252768987", "1395066363000.5", "1.795e12", "253402300799999")
ODD_STAMPS = (
    "1e3",
    "1e300",
    "NaN",
    "+Inf",
    "999999999999999999",
    "1.",
    ".5",
    "+7",
    "x",
    "١",
    "-62135596800001",
)
SECONDS = ("1520879607.789", "1520879607", "0", "-1.5", "1.520879607789e+09", "1795252768.987716710", "12.5")
ODD_SECONDS = (
    "-0.5",
    "1e9",
    "1.+5",
    "1.1234567891e5",
    "1e300",
    "NaN",
    ".5",
    "5.",
    "1.5e3",
    "+7",
    "x",
    "1.-5",
)
BLANKS = (" ", "  ", "\t", " \t", "\t ", "\x0b", "\x1c ", "\xa0", "\u2003 ", "")
JUNK = (
    '"', "\\", "{", "}", ",", "=", " ", "\t", "#", " # ", "_", "NaN", "1", ".", "-", "e", "\r", "\x0b", "\xa0", "\u2028",
    "٣", "__name__", "__x", "\x01", "\x00", "\n", "\n\n", "# EOF\n", "\\n", '\\"', "a", ":", '""', '"a"', "{}", ",,",
    ", ,", "# TYPE a gauge\n", "# HELP a b\n", "# TYPE a nonsense\n", "# UNIT a s\n", "# TYPE\n", ' # {x="y"} 1', " 5",
)  # fmt: skip


def page(dice: Random) -> tuple[bytes, bool]:
    """Give a page and whether it was made as OpenMetrics; one in three is whole, one in ten has odd bytes."""
    is_openmetrics = dice.random() < 0.4
    is_odd = dice.random() < 0.5
    lines = [
        line
        for _ in range(dice.randint(1, 4))
        for line in _family(dice, is_openmetrics=is_openmetrics, is_odd=is_odd)
    ]
    text = "\n".join(lines) + dice.choice(["\n", "\n", "\n", ""])
    if is_openmetrics:
        text = text.rstrip("\n") + "\n# EOF" + dice.choice(["\n", "\n", ""])
    for _ in range(dice.choice([0, 0, 1, 1, 2, 4])):
        text = dice.choice(SPOILED)(text, dice)
    value = text.encode()
    if dice.random() < 0.03:
        at = dice.randint(0, len(value))
        value = value[:at] + dice.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe9"]) + value[at:]
    return value, is_openmetrics


def _family(dice: Random, *, is_openmetrics: bool, is_odd: bool) -> list[str]:
    name = "_".join(dice.sample(WORDS, dice.randint(1, 2)))
    kind = dice.choice(TYPES if is_odd else TYPES[:2])
    lines = []
    if dice.random() < 0.6:
        lines = [f"# HELP {name} some words", f"# TYPE {name} {kind}"][dice.randint(0, 1) :]
    suffix = "_total" if is_openmetrics and kind == "counter" else ""
    if is_odd and dice.random() < 0.3:
        suffix = dice.choice(["_sum", "_count", "_bucket", "_total", "_created", "_info"])
    return lines + [
        _sample(dice, name + suffix, is_openmetrics=is_openmetrics, is_odd=is_odd)
        for _ in range(dice.randint(1, 4))
    ]


def _sample(dice: Random, name: str, *, is_openmetrics: bool, is_odd: bool) -> str:
    labels = dice.sample(LABELS, min(dice.choice([0, 1, 2, 2, 3, 4, 9]), len(LABELS)))
    if dice.random() < 0.7:
        labels.sort()
    blank = (lambda: dice.choice(["", "", "", " ", "\t"])) if is_odd and dice.random() < 0.2 else (lambda: "")
    pairs = [f"{blank()}{key}{blank()}={blank()}{_quoted(dice, is_odd=is_odd)}{blank()}" for key in labels]
    if is_odd and dice.random() < 0.1:
        pairs.insert(
            0, dice.choice(['"my.name"', '__name__="n"', '"up"', '"quoted.label"="x"', '"a"="b"', '""'])
        )
        name = dice.choice(["", "", name])
    text = ",".join(pairs) + ("," if pairs and not is_openmetrics and dice.random() < 0.2 else "")
    series = name + ("{" + text + "}" if pairs or dice.random() < 0.1 else "")
    value = dice.choice(ODD_VALUES if is_odd and dice.random() < 0.3 else VALUES)
    if dice.random() < 0.3:
        value = repr(dice.uniform(-1e6, 1e6) * 10 ** dice.randint(-12, 12))
    gap = dice.choice(BLANKS) if is_odd and dice.random() < 0.15 else " "
    stamp = ""
    if dice.random() < 0.3:
        whole, odd = (SECONDS, ODD_SECONDS) if is_openmetrics else (STAMPS, ODD_STAMPS)
        stamp = gap + dice.choice(odd if is_odd and dice.random() < 0.4 else whole)
    exemplar = dice.choice([' # {trace="x"} 1', " # {} 0.5 12.5", ' # {a="b",c="d"} 1 x', " # {a} 1"])
    return (
        series + gap + value + stamp + (exemplar if is_openmetrics and is_odd and dice.random() < 0.2 else "")
    )


def _quoted(dice: Random, *, is_odd: bool) -> str:
    parts = [dice.choice(TEXTS[:3])]
    if is_odd:
        parts = [dice.choice(ESCAPES if dice.random() < 0.3 else TEXTS) for _ in range(dice.randint(0, 4))]
    return '"' + "".join(parts) + '"'


def _with_junk(text: str, dice: Random) -> str:
    at = dice.randint(0, len(text))
    return text[:at] + dice.choice(JUNK) + text[at:]


def _without_a_piece(text: str, dice: Random) -> str:
    at = dice.randint(0, len(text))
    return text[:at] + text[at + dice.choice([1, 1, 2, 5, 30]) :]


def _cut(text: str, dice: Random) -> str:
    return text[: dice.randint(0, len(text))]


def _with_another(text: str, dice: Random) -> str:
    at = dice.randint(0, max(len(text) - 1, 0))
    return text[:at] + dice.choice('"\\{}, =#\n1aZ_:.\t') + text[at + 1 :]


def _repeated(text: str, dice: Random) -> str:
    start = dice.randint(0, len(text))
    end = min(len(text), start + dice.choice([1, 3, 20, 200]))
    return text[:end] + text[start:]


def _swapped(text: str, dice: Random) -> str:
    lines = text.split("\n")
    dice.shuffle(lines)
    return "\n".join(lines)


SPOILED = (
    _with_junk,
    _with_junk,
    _with_junk,
    _without_a_piece,
    _cut,
    _with_another,
    _with_another,
    _repeated,
    _swapped,
)
