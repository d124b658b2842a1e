"""Settings files as typed objects: an error names the file, the key, its value, and what is allowed."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from conf.exit_codes import WrongUseError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """
    Return the content of a TOML file.

    Raises:
        WrongUseError: the file cannot be read, or is not TOML.

    """
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: not valid TOML: {error}"
    except FileNotFoundError:
        message = f"there is no file {path}"
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {error}"
    raise WrongUseError(message)


def checked(kind: type[T], document: Mapping[str, Any], where: Path) -> T:
    """
    Return the document as a dataclass with typed fields; each section is a dataclass too.

    Raises:
        WrongUseError: a key is unknown or missing, or a value is wrong.

    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 (a worker imports this module, but never reads)

    try:  # as JSON: in strict mode, pydantic makes tuples and dataclasses of JSON, but not of lists and dicts
        return TypeAdapter(kind).validate_json(json.dumps(document, default=str), strict=True, extra="forbid")
    except ValidationError as error:
        found = error.errors(include_url=False)
    message = f"{where}: {'; '.join(_line(kind, detail) for detail in found)}"
    raise WrongUseError(message)


def _line(kind: type, detail: "ErrorDetails") -> str:
    loc, value = detail["loc"], detail["input"]
    match detail["type"]:
        case "unexpected_keyword_argument":
            known = sorted(field.name for field in fields(_type_at(kind, loc[:-1])))
            near = get_close_matches(str(loc[-1]), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ";"
            return f"{_place(loc)}: unknown key{hint} known are {', '.join(known)}"
        case "missing":
            return f"{_place(loc)} is missing"
        case "dataclass_type":
            return f"{_place(loc)} = {value!r}: must be a section of keys and values, as in [{loc[0]}]"
        case "value_error":
            return f"{_place((*loc, ''))}{detail['ctx']['error']}"
    return f"{_place(loc)} = {value!r}: must {detail['msg'].partition(' should ')[2]}"


def _type_at(kind: Any, loc: tuple[int | str, ...]) -> Any:  # noqa: ANN401 (types of fields)
    for part in loc:
        kind = get_type_hints(kind)[part] if isinstance(part, str) else get_args(kind)[0]
        if isinstance(kind, UnionType):  # a section that may be missing
            kind = get_args(kind)[0]
    return kind


def _place(loc: tuple[int | str, ...]) -> str:
    """
    Return a place in a document, as TOML writes it.

    >>> _place(("ingest", "trigger")), _place(("arms", 1, "name")), _place(("name",)), _place(("lab", ""))
    ('[ingest] trigger', '[[arms]] 2: name', 'name', '[lab] ')
    """
    after = max((n for n, part in enumerate(loc) if isinstance(part, int)), default=-1) + 1
    *section, key = loc[after:] or (None,)
    row = [f"[[{_dotted(loc[: after - 1])}]] {int(loc[after - 1]) + 1}"] if after else []
    name = [] if key is None else [f"[{_dotted(section)}] {key}" if section else str(key)]
    return ": ".join([*row, *name])


def _dotted(parts: Sequence[int | str | None]) -> str:
    return ".".join(str(part) for part in parts)
