"""The log that is weighed by hand names what that of a real table would, and the disk columns have it."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from benchmarks.sizes import log_weight, page
from benchmarks.sizes.log_weight import LogWeight
from conf.settings import Settings

ADD = {
    "path": "ingest-3-18bd2789/day=2026-11-22/part-00000-10c68ff9-303b-4d70-ba1c-73d68410a13c.c000.parquet",
    "partitionValues": {"day": "2026-11-22"},
    "size": 100_000,
    "modificationTime": 1_795_360_643_995,
    "dataChange": True,
    "stats": '{"numRecords": 2000, "minValues": {"at": "2026-11-22T15:12:31.354983Z"}}',
}


@pytest.fixture
def table(tmp_path):
    where = tmp_path / "table"
    day = pa.array(["2026-11-22"])
    write_deltalake(str(where), pa.table({"at": pa.array(["a"]), "day": day}), partition_by=["day"])
    entry = where / "_delta_log" / f"{1:020}.json"
    entry.write_text(json.dumps({"commitInfo": {}}) + "\n" + json.dumps({"add": ADD}) + "\n")
    return where


def test_the_checkpoint_names_every_file_that_was_removed_and_those_that_are_young(table, tmp_path):
    scratch = tmp_path / "scratch"

    log_weight.log_weight(table, scratch, removed=20, young=10)

    told = pq.read_table(next((scratch / "_delta_log").glob("*.checkpoint.parquet")))
    removed = [row["path"] for row in told["remove"].to_pylist() if row and row["path"]]
    young = [row["path"] for row in told["add"].to_pylist() if row and row["path"]]
    assert (len(set(removed)), len(set(young))) == (20, 10)


def test_the_files_of_one_commit_share_a_folder_and_no_other_does(table, tmp_path):
    scratch = tmp_path / "scratch"

    log_weight.log_weight(table, scratch, removed=6, young=0)

    log = [json.loads(line) for line in (scratch / "_delta_log" / f"{0:020}.json").read_text().splitlines()]
    folders = [action["remove"]["path"].split("/")[0] for action in log if "remove" in action]
    assert folders[0::2] == folders[1::2]
    assert len(set(folders)) == 3


def test_an_entry_is_weighed_in_blocks_of_the_disk(table, tmp_path):
    weight = log_weight.log_weight(table, tmp_path / "scratch", removed=2, young=0)

    # Shorter than a block, it takes one.
    assert weight.entry >= (table / "_delta_log" / f"{1:020}.json").stat().st_size
    assert weight.entry % log_weight.BLOCK_BYTES == 0


def test_the_disk_of_a_layer_is_its_days_what_waits_for_vacuum_the_running_day_and_the_log():
    weight = page.Weight(lines=1, raw=1_000, kafka=100, bronze=(80, 60), silver=(40, 30))
    log = LogWeight(entry=4_096, checkpoint=40_000_000, checkpoint_cpu_s=1)
    measured = page.Sizes(
        weights={"request log": weight, "client log": weight},
        young_at=dict.fromkeys(page.RATES, (100.0, 50.0)),
        logs=(log, log),
        window_bytes=1,
    )
    settings = Settings()
    told = replace(settings.maintain, bronze_days=7, silver_days=30, vacuum_retention_hours=48)

    text = page.section(measured, replace(settings, maintain=told))

    # 8.64 million lines a day; merged for 7 + 2 days, young for 1 + 2; 86,400 entries and 15 checkpoints.
    bronze = (8.64e6 * 840 + 86_400 * 4_096 + 15 * 40e6) / 1e9
    silver = (8.64e6 * (32 * 30 + 3 * 50) + 86_400 * 4_096 + 15 * 40e6) / 1e9
    row = next(line for line in text.splitlines() if line.startswith("| 100 |"))
    assert row.endswith(f"| {bronze:,.1f} GB | {silver:,.1f} GB |")
    assert "up to 86,400 entries and up to 15 checkpoints" in text.replace("\n", " ")
