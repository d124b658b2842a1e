"""Alert rules of Prometheus's rule files, and the series that their expressions select."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_STRING = r'"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])*'"
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_RANGE = re.compile(r"\[[^\]]*\]|\b\d[\w.]*")
_WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan", "by", "on", "ignoring", "without", "atan2"}
_WORDS |= {"group_left", "group_right"}
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}


class RuleError(Exception):
    """A file has no rules that can be evaluated; the message names it."""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """One alert."""

    name: str
    expr: str
    for_s: float = 0.0
    labels: dict[str, str] = field(default_factory=dict)


def rules_of(paths: Iterable[Path]) -> list[AlertRule]:
    """
    Return the alerts of rule files.

    Raises:
        RuleError: a file is no rule file, or has a recording rule, whose series gold does not have.

    """
    found = []
    for path in paths:
        try:
            content = yaml.safe_load(path.read_text())
            rules = [rule for group in content["groups"] for rule in group["rules"]]
            found += [_rule(rule, path) for rule in rules]
        except (yaml.YAMLError, KeyError, TypeError) as error:
            message = f"{path}: no file of alert rules: {error}"
            raise RuleError(message) from error
    return found


def _rule(rule: dict[str, Any], path: Path) -> AlertRule:
    if "record" in rule:
        message = f"{path}: {rule['record']} is a recording rule; only alerts are evaluated"
        raise RuleError(message)
    labels = {name: str(value) for name, value in rule.get("labels", {}).items()}
    return AlertRule(rule["alert"], str(rule["expr"]), seconds_of(str(rule.get("for", "0s"))), labels)


def seconds_of(duration: str) -> float:
    """
    Return a duration of Prometheus in seconds.

    >>> seconds_of("1m30s"), seconds_of("0")
    (90.0, 0.0)
    """
    return float(sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)(ms|[smhdwy])", duration)))


def selectors(expr: str) -> list[str]:
    """
    Return the selectors of an expression's series, each once.

    >>> selectors('max by (cluster) (rate(a_b{c="x by (d)"}[5m])) > 1e6 and on (cluster) time() - d')
    ['a_b{c="x by (d)"}', 'd']
    """
    held: list[str] = []

    def keep(found: re.Match[str]) -> str:
        held.append(found.group())
        return f"{{#{len(held) - 1}}}"

    plain = re.sub(r"\{(?:" + _STRING + r"|[^}\"'])*\}", keep, expr)
    names = re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{#(\d+)\})?(\s*\()?", _bare(plain))
    found = [
        name + (held[int(nth)] if nth else "")
        for name, _, nth, called in names
        if not called and name.lower() not in _WORDS
    ]
    return list(dict.fromkeys(found))


def _bare(expr: str) -> str:
    """Remove groupings, ranges and numbers; the marks of matchers stay."""
    pieces = re.split(r"(\{#\d+\})", _GROUPING.sub(" ", re.sub(_STRING, " ", expr)))
    return "".join(piece if piece.startswith("{#") else _RANGE.sub(" ", piece) for piece in pieces)
