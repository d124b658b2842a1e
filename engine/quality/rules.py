"""The rules between the layers: Great Expectations' suites of conf/expectations, asked of rows."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from schemas.rows import Row, plain

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult

MOST_EXAMPLES = 5
VIEW = "checked_rows"


class SuiteError(Exception):
    """A suite cannot be read, or one of its rules cannot be asked; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The rules of one table, as its file holds them."""

    layer: str
    table: str
    at: str | None  # the instant by which rows lie in a span; None: the table is always checked whole
    place: tuple[str, ...]  # what tells where a row stands
    columns: tuple[str, ...]  # what the rules read beside it
    expectations: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one rule said of the rows it was asked about."""

    rule: str
    about: str
    is_passed: bool
    rows_seen: int
    rows_failed: int
    examples: tuple[str, ...]


def suites_of(folder: Path, layer: str) -> list[Suite]:
    """
    Read the suites of a layer, `LAYER_TABLE.json` each.

    Raises:
        SuiteError: there is none, or one is not as it should be.

    """
    files = sorted(folder.glob(f"{layer}_*.json"))
    if not files:
        message = f"no rules for {layer} in {folder}, which [quality] suites names"
        raise SuiteError(message)
    return [_read(file, layer) for file in files]


def _read(file: Path, layer: str) -> Suite:
    try:
        told = json.loads(file.read_text())
        meta, expectations = told["meta"], tuple(told["expectations"])
        for expectation in expectations:
            expectation["meta"]["rule"], expectation["meta"]["about"]
        return Suite(
            layer=layer,
            table=file.stem.removeprefix(f"{layer}_"),
            at=meta["at"],
            place=tuple(meta["place"]),
            columns=tuple(meta["columns"]),
            expectations=expectations,
        )
    except (ValueError, TypeError, KeyError) as error:
        message = f"{file} is no suite of ours: {error!r}"
        raise SuiteError(message) from error


def asked(rows: DataFrame, suite: Suite) -> list[Outcome]:
    """
    Ask every rule of a suite.

    Raises:
        SuiteError: a rule cannot be asked: it names a column that is not there, or is no SQL.

    """
    wanted = dict.fromkeys((*suite.place, *suite.columns))
    missing = [name for name in wanted if name not in rows.columns]
    if missing:
        message = f"{suite.layer}.{suite.table} has no column {missing[0]!r}, which its suite names"
        raise SuiteError(message)
    kept = rows.select(*wanted).persist()  # each rule reads them once or twice
    try:
        seen = kept.count()
        return [_outcome(result, suite, kept, seen) for result in _validated(kept, suite)]
    finally:
        kept.unpersist()


def _validated(rows: DataFrame, suite: Suite) -> Sequence["ExpectationValidationResult"]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports what Python 3.11 calls old
        import great_expectations as gx  # noqa: PLC0415 (two seconds that only a check pays)
        from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        asset = context.data_sources.add_spark(name="plumbline").add_dataframe_asset(name=suite.table)
        batch = asset.add_batch_definition_whole_dataframe("span").get_batch({"dataframe": rows})
        rules = gx.ExpectationSuite(name=suite.table, expectations=[*suite.expectations])
        # A complete result would bring every row that breaks a rule to the driver.
        form = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": [*suite.place],
            "partial_unexpected_count": MOST_EXAMPLES,
        }
        return batch.validate(rules, result_format=form).results


def _outcome(result: "ExpectationValidationResult", suite: Suite, rows: DataFrame, rows_seen: int) -> Outcome:
    told = result.to_json_dict()
    config: Any = told["expectation_config"]
    trouble: Any = told["exception_info"]
    found: Any = told["result"]
    rule = config["meta"]["rule"]
    if message := _message(trouble):
        said = f"rule {rule} of {suite.layer}.{suite.table} cannot be asked: {message}"
        raise SuiteError(said)
    query = config["kwargs"].get("unexpected_rows_query")
    is_passed = bool(result.success)
    examples: list[Row] = [] if is_passed else found.get("partial_unexpected_index_list") or []
    if query and not is_passed:
        examples = _broken(rows, query)
    return Outcome(
        rule=rule,
        about=config["meta"]["about"],
        is_passed=is_passed,
        rows_seen=rows_seen,
        rows_failed=0 if is_passed else int(found["observed_value"] if query else found["unexpected_count"]),
        examples=tuple(json.dumps(plain(example), ensure_ascii=False) for example in examples),
    )


def _message(trouble: dict[str, Any]) -> str | None:
    """Give the first exception there was; they are told one a metric, or alone."""
    each = [trouble] if "raised_exception" in trouble else list(trouble.values())
    return next((str(of["exception_message"]) for of in each if of["raised_exception"]), None)


def _broken(rows: DataFrame, query: str) -> list[Row]:
    """Take some of the rows that a rule in SQL finds."""
    rows.createOrReplaceTempView(VIEW)
    found = rows.sparkSession.sql(query.format(batch=VIEW)).limit(MOST_EXAMPLES)
    plainly = found.selectExpr(*[f"`{name}`" for name in found.columns if "hist" not in name])
    return [{name: _text(cell) for name, cell in row.asDict().items()} for row in plainly.collect()]


def _text(cell: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    return cell if isinstance(cell, int | float | str | bool | list | None) else str(cell)
