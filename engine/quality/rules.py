"""Evaluate the data quality rules between the layers: the Great Expectations suites of conf/expectations."""

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
    """A suite cannot be read, or one of its rules cannot be evaluated; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The rules of one table, as in its file."""

    layer: str
    table: str
    at: str | None  # column whose instant puts a row into a span; None: always check the whole table
    place: tuple[str, ...]  # columns that locate a row, for the examples
    columns: tuple[str, ...]  # the other columns that the rules read
    expectations: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """The result of one rule on the checked rows."""

    rule: str
    about: str
    is_passed: bool
    rows_seen: int
    rows_failed: int
    examples: tuple[str, ...]


def suites_of(folder: Path, layer: str) -> list[Suite]:
    """
    Read the suites of a layer from its files `LAYER_TABLE.json`.

    Raises:
        SuiteError: there is no suite, or one is not valid.

    """
    files = sorted(folder.glob(f"{layer}_*.json"))
    if not files:
        message = f"no rules for {layer} in {folder}: correct the setting [quality] suites"
        raise SuiteError(message)
    return [_read(file, layer) for file in files]


def _read(file: Path, layer: str) -> Suite:
    try:
        content = json.loads(file.read_text())
        meta, expectations = content["meta"], tuple(content["expectations"])
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
        message = f"{file} is not a valid suite: {error!r}"
        raise SuiteError(message) from error


def evaluate(rows: DataFrame, suite: Suite) -> list[RuleOutcome]:
    """
    Evaluate every rule of a suite on rows of its table.

    Raises:
        SuiteError: a rule cannot be evaluated: a column does not exist, or its SQL is not valid.

    """
    wanted = dict.fromkeys((*suite.place, *suite.columns))
    missing = [name for name in wanted if name not in rows.columns]
    if missing:
        message = f"{suite.layer}.{suite.table} has no column {missing[0]!r}, but its suite reads it"
        raise SuiteError(message)
    cached = rows.select(*wanted).persist()  # each rule reads them once or twice
    try:
        seen = cached.count()
        return [_outcome(result, suite, cached, seen) for result in _validated(cached, suite)]
    finally:
        cached.unpersist()


def _validated(rows: DataFrame, suite: Suite) -> Sequence["ExpectationValidationResult"]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its imports are deprecated since Python 3.11
        import great_expectations as gx  # noqa: PLC0415 (the import takes two seconds; only a check needs it)
        from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        asset = context.data_sources.add_spark(name="plumbline").add_dataframe_asset(name=suite.table)
        batch = asset.add_batch_definition_whole_dataframe("span").get_batch({"dataframe": rows})
        rules = gx.ExpectationSuite(name=suite.table, expectations=[*suite.expectations])
        # A complete result would collect every row that breaks a rule on the driver.
        result_format = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": [*suite.place],
            "partial_unexpected_count": MOST_EXAMPLES,
        }
        return batch.validate(rules, result_format=result_format).results


def _outcome(
    result: "ExpectationValidationResult", suite: Suite, rows: DataFrame, rows_seen: int
) -> RuleOutcome:
    document = result.to_json_dict()
    config: Any = document["expectation_config"]
    exceptions: Any = document["exception_info"]
    found: Any = document["result"]
    rule = config["meta"]["rule"]
    if cause := _first_message(exceptions):
        message = f"rule {rule} of {suite.layer}.{suite.table} cannot be evaluated: {cause}"
        raise SuiteError(message)
    query = config["kwargs"].get("unexpected_rows_query")
    is_passed = bool(result.success)
    examples: list[Row] = [] if is_passed else found.get("partial_unexpected_index_list") or []
    if query and not is_passed:
        examples = _broken(rows, query)
    return RuleOutcome(
        rule=rule,
        about=config["meta"]["about"],
        is_passed=is_passed,
        rows_seen=rows_seen,
        rows_failed=0 if is_passed else int(found["observed_value"] if query else found["unexpected_count"]),
        examples=tuple(json.dumps(plain(example), ensure_ascii=False) for example in examples),
    )


def _first_message(exceptions: dict[str, Any]) -> str | None:
    """Return the first message; Great Expectations reports one exception per metric, or a single one."""
    infos = [exceptions] if "raised_exception" in exceptions else list(exceptions.values())
    return next((str(info["exception_message"]) for info in infos if info["raised_exception"]), None)


def _broken(rows: DataFrame, query: str) -> list[Row]:
    """Return some of the rows that an SQL rule finds."""
    rows.createOrReplaceTempView(VIEW)
    found = rows.sparkSession.sql(query.format(batch=VIEW)).limit(MOST_EXAMPLES)
    columns = found.selectExpr(*[f"`{name}`" for name in found.columns if "hist" not in name])
    return [{name: _text(cell) for name, cell in row.asDict().items()} for row in columns.collect()]


def _text(cell: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    return cell if isinstance(cell, int | float | str | bool | list | None) else str(cell)
