"""The published figures of KIPs, ingested as runs; `docs/published.md` shows the derived figures."""

import csv
import json
import re
from statistics import mean

import duckdb
import pyarrow as pa

from answers.gold.histogram import MACROS
from answers.partition_skew.spread import partitions, producers
from answers.runs.summaries import summaries
from collectors.perf_test.run import document, parse_arguments
from conf.settings import PROJECT
from engine.ingest.task.arrow_rows import record_batch
from schemas.gold.partition_skew import PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.gold.perf_runs import PERF_RUNS
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.parse.records import DATA, record
from transforms.parse import perf
from transforms.parse.record import Kept

PUBLISHED = DATA / "published"
PAGE = (PROJECT / "docs" / "published.md").read_text()
CELLS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line[:1] == "|"
]
PUBLISHED_CELLS = {cells[0]: cells[1:] for cells in CELLS}


def lines_of(name):
    return [json.loads(line) for line in (PUBLISHED / name).read_text().splitlines()]


def of_runs(published):
    """Return a selection of published runs: each has a run document, then the run's own lines."""
    records = []
    for number, run in enumerate(published):
        rate, size = run.get("asked_records_per_s"), run.get("record_size")
        arguments = [
            "--topic",
            "t",
            *(["--throughput", str(rate), "--record-size", str(size)] if rate else []),
        ]
        facts = {"run": f"run-{number}", "arm": run["arm"], "started_at": "2022-01-01T00:00:00Z"}
        lines = [document(facts | parse_arguments(arguments)), run["line"].encode()]
        lines += [line.encode() for line in run.get("node_metrics", ())]
        fields = {"headers": [("run", f"run-{number}".encode()), ("arm", run["arm"].encode())]}
        fields |= {"kind": "perf-test", "node": "host"}
        records += [record(line, position=f"{number}/{at}", **fields) for at, line in enumerate(lines)]
    outcomes = [perf.parse(each) for each in records]
    assert [outcome for outcome in outcomes if not isinstance(outcome, Kept)] == []
    silver = {}
    for table in (PERF_SUMMARIES, CLIENT_METRICS, RUNS):
        rows = [row for outcome in outcomes for row in outcome.rows.get(table.name, ())]
        silver[table] = pa.Table.from_batches([record_batch(table, rows)])
    return selected(silver)


def test_rows_are_the_declared_ones():
    of = of_runs(lines_of("kip794_slow_broker.jsonl"))

    assert_declared(summaries(of), PERF_RUNS)
    assert_declared(partitions(of), PARTITION_SKEW_SPAN)
    assert_declared(producers(of), PARTITION_SKEW_SUMMARY)


def test_kip_951_leader_changes():
    runs = summaries(of_runs(lines_of("kip951_leader_change.jsonl")))
    ms = {
        arm: mean(row["p999_ms"] for row in runs if row["arm"] == arm) for arm in {row["arm"] for row in runs}
    }

    reduction = 100 * (1 - ms["kip-951"] / ms["baseline"])
    assert PUBLISHED_CELLS["p99.9, baseline"] == ("1675.67", f"{ms['baseline']:.2f}")
    assert PUBLISHED_CELLS["p99.9, KIP-951"] == ("215", f"{ms['kip-951']:.2f}")
    rejected = f"{ms['metadata-refresh-without-backoff']:.2f}"
    assert PUBLISHED_CELLS["p99.9, metadata refresh without backoff (rejected)"] == ("3022.33", rejected)
    assert PUBLISHED_CELLS["reduction of p99.9"] == ("88 %", f"{reduction:.1f} %")


def test_kip_951_rolls():
    for row in csv.DictReader((PUBLISHED / "kip951_roll.csv").read_text().splitlines()):
        before, after = (
            mean(float(row[f"{arm}_run{n}_ms"]) for n in (1, 2)) for arm in ("baseline", "optimized")
        )
        published = f"{float(row['published_improvement_percent']):g} %"
        derived = f"{100 * (before - after) / before:.1f} %"
        assert PUBLISHED_CELLS[f"{row['acks']}, {row['workload']}, {row['metric']}"] == (published, derived)


def test_kip_794_hour_by_partition():
    with duckdb.connect() as db:
        db.execute(MACROS)
        db.read_csv(PUBLISHED / "kip794_hour_by_partition.csv").create("hours")
        rows = db.sql(
            "SELECT *, ratio(total_bytes, total_batches) AS bytes, sum(total_bytes) OVER () AS all_bytes, "
            "ratio(total_records, total_batches) AS records FROM hours"
        ).to_arrow_table()

    first, *_ = rows = rows.to_pylist()
    for row in rows:
        derived = (f"{row['bytes_per_batch']:.2f}", f"{row['bytes']:.2f}")
        assert PUBLISHED_CELLS[f"bytes a batch, partition {row['partition']}"] == derived
        derived = (f"{row['records_per_batch']:.2f}", f"{row['records']:.2f}")
        assert PUBLISHED_CELLS[f"records a batch, partition {row['partition']}"] == derived
    share = f"{first['total_bytes'] / first['all_bytes']:.3f}"
    assert PUBLISHED_CELLS["share of bytes, partition 0"] == ("", share)


def shares_of_slow_broker(of):
    return {row["run"]: row["share"] for row in partitions(of) if row["leader_id"] == 0}


def test_kip_794_slow_broker():
    published = lines_of("kip794_slow_broker.jsonl")
    of = of_runs(published)
    skews = {row["run"]: row for row in producers(of)}
    runs = {row["run"]: row for row in summaries(of)}
    shares = shares_of_slow_broker(of)
    for number, run in enumerate(published):
        skew, sent, share = skews[f"run-{number}"], runs[f"run-{number}"], shares[f"run-{number}"]
        payload = sent["records"] * run["record_size"]
        flags = sorted({*skew["quality_flags"], *sent["quality_flags"]} - {"no_instant"})
        derived = (
            f"{sent['records_per_s'] / sent['asked_records_per_s']:.3f}",
            f"{share:.3f}",
            f"{share / ((1 - share) / 2):.2f}",
            f"{skew['bytes'] / payload:.3f}",
            ", ".join(flags),
        )
        assert PUBLISHED_CELLS[f"{run['arm']}, {run['asked_records_per_s']}"] == derived


def test_kip_794_with_the_digit_that_is_apparently_missing():
    (run,) = [run for run in lines_of("kip794_slow_broker.jsonl") if run["arm"] == "default-partitioner"]
    run["node_metrics"][0] = run["node_metrics"][0].replace("4682622.000", "46826220.000")
    of = of_runs([run])
    (skew,) = producers(of)
    (share,) = shares_of_slow_broker(of).values()

    assert skew["quality_flags"] == []
    said = re.search(r"its bytes are ([\d.]+) of the payload", PAGE.replace("\n", " "))[1]
    assert f"{skew['bytes'] / (122_880 * 512):.3f}" == said
    said = re.search(r"gets ([\d.]+) times the others' share", PAGE.replace("\n", " "))[1]
    assert f"{share / ((1 - share) / 2):.2f}" == said
