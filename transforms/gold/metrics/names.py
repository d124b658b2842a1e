"""The exporter names of Kafka metrics from `conf/metric_names.toml`, one row per name."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf.documents import read_toml

FILE = Path(__file__).resolve().parents[3] / "conf" / "metric_names.toml"
"""Facts about exporters, not settings: the file is the same for every deployment."""

KNOWN = pa.schema(
    [
        (name, pa.bool_() if name == "per_partition" else pa.string())
        for name in (
            "known_name",
            "bean",
            "quantile",
            "per_partition",
            "known_dialect",
            "meaning",
            "statistic",
            "time",
            "known_request",
            "direction",
            "broker_label",
        )
    ]
)
"""One row per name: the conditions (the first four columns), and the meaning of a matching series."""

PLACE = re.compile(r"\{(\w+)\}")

Known = dict[str, Any]


@cache
def metric_names() -> dict[str, Any]:
    """Return the contents of the file, read once per process."""
    return read_toml(FILE)


@cache
def known_names() -> tuple[Known, ...]:
    """Return one row per name, with each placeholder replaced by each of its words."""
    return tuple(_row(entry, words) for entry in metric_names()["names"] for words in _words(entry))


def _row(entry: Known, words: dict[str, Known]) -> Known:
    """Return the row of an entry with these words in its placeholders, and with the meaning of the words."""
    written = {key: PLACE.sub(lambda place: words[place[1]]["word"], text) for key, text in entry.items()}
    means = {key: text for word in words.values() for key, text in word.items() if key != "word"}
    row = written | means
    return {
        "known_name": row["name"],
        "bean": row.get("bean"),
        "quantile": row.get("quantile"),
        "per_partition": row.get("per") == "partition",
        "known_dialect": row.get("dialect"),
        "meaning": row["meaning"],
        "statistic": row["statistic"],
        "time": row.get("time"),
        "known_request": row.get("request"),
        "direction": row.get("direction") or None,
        "broker_label": row.get("broker_label"),
    }


def _words(entry: Known) -> Iterator[dict[str, Known]]:
    """Yield each combination of words for the placeholders of an entry."""
    places = sorted({place for text in entry.values() for place in PLACE.findall(text)})
    ways: list[dict[str, Known]] = [{}]
    for place in places:
        ways = [way | {place: word} for way in ways for word in _of_place(place)]
    yield from ways


def _of_place(place: str) -> list[Known]:
    if place == "meter":
        return [
            {"word": word, "meaning": meaning, "direction": direction, "statistic": "count"}
            for word, (meaning, direction) in metric_names()["meters"].items()
        ]
    means = {"quantile": "statistic", "cloudwatch_time": "time"}.get(place, place)
    return [{"word": word, means: meaning} for word, meaning in metric_names()[f"{place}s"].items()]
