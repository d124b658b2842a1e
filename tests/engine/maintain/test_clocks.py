"""Retention when a clock is wrong: the host's, or that of a line."""

from datetime import UTC, date, datetime, time, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from engine.delta import tables
from jobs import maintain as job
from schemas.arrow import arrow_schema
from schemas.bronze import REQUEST_LOG
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from tests.engine.maintain.made_tables import TODAY, days_ago

FAR = date(2099, 1, 1)


@pytest.fixture
def host_clock(monkeypatch):
    """Set the clock of the host to so many days from now."""

    def set_to(days: int) -> None:
        class HostClock(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) + timedelta(days=days)

        monkeypatch.setattr(job, "datetime", HostClock)

    return set_to


def test_a_line_from_2099_does_not_move_the_retention(warehouse):
    warehouse.append(REQUESTS, *map(days_ago, (40, 20, 10, 5, 1, 0)), FAR, times=1)

    assert warehouse.maintain("--only", "silver").exit_code == 0

    assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (20, 10, 5, 1, 0)), FAR]


def test_a_host_clock_that_jumped_ahead_deletes_nothing_with_and_without_yes(warehouse, host_clock):
    warehouse.append(REQUESTS, *map(days_ago, (29, 10, 0)), times=1)
    host_clock(60)

    for options in ((), ("--yes",)):
        assert warehouse.maintain("--only", "silver", *options).exit_code == 0
        assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (29, 10, 0))]


def test_rows_with_the_wrong_time_of_the_host_look_like_data_after_a_pause(warehouse, host_clock):
    """Nothing tells them from true ones: retention counts from their day (docs/maintenance.md)."""
    warehouse.append(REQUESTS, *map(days_ago, (29, 25, 10, 5, 0, -10)), times=1)
    host_clock(10)

    assert warehouse.maintain("--only", "silver").exit_code == 0
    assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (10, 5, 0, -10))]


@pytest.mark.parametrize("days", [2, 60])
def test_host_and_data_that_differ_by_more_than_a_day_need_a_yes(warehouse, host_clock, days):
    warehouse.append(REQUESTS, *map(days_ago, (31, 20, 10, 0)), times=1)
    host_clock(days)

    refused = warehouse.maintain("--only", "silver")

    assert refused.exit_code == 1
    assert (
        f"silver.requests: rows from before {days_ago(30)} are not deleted: this machine's clock says "
        f"{TODAY + timedelta(days=days)}, but the newest rows of the warehouse are of {TODAY}; check "
    ) in refused.stderr
    assert len(warehouse.days(REQUESTS)) == 4

    assert warehouse.maintain("--only", "silver", "--yes").exit_code == 0
    assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (20, 10, 0))]


def test_a_host_clock_of_the_past_deletes_less(warehouse, host_clock):
    warehouse.append(REQUESTS, *map(days_ago, (40, 31, 10, 5, 0)), times=1)
    host_clock(-5)

    assert warehouse.maintain("--only", "silver").exit_code == 0
    assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (31, 10, 5, 0))]


def test_more_than_half_of_the_rows_need_a_yes(warehouse):
    warehouse.append(REQUESTS, *map(days_ago, (60, 50, 40, 1, 0)), times=1)

    refused = warehouse.maintain("--only", "silver.requests")

    assert refused.exit_code == 1
    assert "they are 60% of the table; check the clock" in refused.stderr
    assert "confirm with `--yes --only silver.requests`" in refused.stderr
    assert len(warehouse.days(REQUESTS)) == 5
    assert "would delete" in warehouse.maintain("--only", "silver.requests", "--dry-run").stderr

    assert warehouse.maintain("--only", "silver.requests", "--yes").exit_code == 0
    assert sorted(warehouse.days(REQUESTS)) == [*map(days_ago, (1, 0))]


@pytest.mark.parametrize(("days", "is_refused"), [(90, False), (30, True)])
def test_gold_counts_its_old_rows_and_not_the_file_that_has_them(warehouse, days, is_refused):
    """Gold has no date partitions: its oldest file nearly always has rows of all days."""
    kinds = pa.schema([field.with_nullable(True) for field in arrow_schema(FETCH_LATENCY)])
    instants = [datetime.combine(days_ago(nth), time(12), UTC) for nth in range(100)]
    values = {"window_start": instants}
    rows = pa.table([pa.array(values.get(f.name, [None] * 100), f.type) for f in kinds], kinds)
    tables.append_rows(rows, warehouse.root, FETCH_LATENCY, txn_app_id="gold")
    warehouse.append(REQUESTS, days_ago(0), times=1)
    warehouse.configure(gold_days=days)

    result = warehouse.maintain("--only", "gold.fetch_latency")

    left = DeltaTable(warehouse.where(FETCH_LATENCY)).to_pyarrow_table(columns=["window_start"]).num_rows
    assert result.exit_code == is_refused, result.stderr
    assert left == (100 if is_refused else days + 1)
    assert ("they are 69% of the table" in result.stderr) == is_refused


def test_a_table_that_rarely_gets_rows_needs_no_yes(warehouse):
    warehouse.append(REQUEST_LOG, days_ago(0), times=1)
    warehouse.append(QUARANTINE, *map(days_ago, (60, 25, 20)), times=1)

    assert warehouse.maintain().exit_code == 0
    assert sorted(warehouse.days(QUARANTINE)) == [*map(days_ago, (25, 20))]
