"""The published figures of KIPs, ingested as runs; `docs/published.md` shows the derived figures."""

import csv
import json
import re
from statistics import mean

import pytest
from pyspark.sql import functions as F

from collectors.perf_test.run import document, parse_arguments
from conf.settings import PROJECT
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
from tests.transforms.parse.records import DATA, record
from tests.transforms.parse.silver_frames import kept_frames
from transforms.frames import frame_of
from transforms.gold.partition_skew.metrics import partition_skew_metrics
from transforms.gold.partition_skew.ratios import ratio
from transforms.gold.partition_skew.summary import partition_skew_summary
from transforms.gold.runs.perf_runs import payloads, perf_runs
from transforms.parse import perf

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


def silver(spark, published):
    """Return the silver frames of published runs: a run document, then the run's own lines."""
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
    return kept_frames(spark, perf.parse, records, (PERF_SUMMARIES, CLIENT_METRICS, RUNS))


def test_kip_951_leader_changes(spark):
    runs = silver(spark, lines_of("kip951_leader_change.jsonl"))
    means = (
        perf_runs(runs[PERF_SUMMARIES], runs[RUNS]).groupBy("arm").agg(F.avg("p999_ms").alias("ms")).collect()
    )
    ms = {row["arm"]: row["ms"] for row in means}

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


def test_kip_794_hour_by_partition(spark):
    hour = spark.read.csv(str(PUBLISHED / "kip794_hour_by_partition.csv"), header=True, inferSchema=True)
    all_bytes = hour.agg(F.sum("total_bytes")).first()[0]
    rows = hour.select(
        "*",
        ratio(F.col("total_bytes"), F.col("total_batches")).alias("bytes"),
        ratio(F.col("total_records"), F.col("total_batches")).alias("records"),
    ).collect()

    for row in rows:
        derived = (f"{row.bytes_per_batch:.2f}", f"{row.bytes:.2f}")
        assert PUBLISHED_CELLS[f"bytes a batch, partition {row.partition}"] == derived
        derived = (f"{row.records_per_batch:.2f}", f"{row.records:.2f}")
        assert PUBLISHED_CELLS[f"records a batch, partition {row.partition}"] == derived
    assert PUBLISHED_CELLS["share of bytes, partition 0"] == ("", f"{rows[0].total_bytes / all_bytes:.3f}")


@pytest.fixture(scope="module")
def slow_broker(spark):
    published = lines_of("kip794_slow_broker.jsonl")
    found = silver(spark, published)
    span = partition_skew_metrics(found[CLIENT_METRICS], found[RUNS]).cache()
    sent = payloads(found[PERF_SUMMARIES], found[RUNS])
    nothing = frame_of(spark, [], PARTITION_SKEW.schema)
    summary = {row.run: row for row in partition_skew_summary(span, nothing, sent).collect()}
    runs = {row.run: row for row in perf_runs(found[PERF_SUMMARIES], found[RUNS]).collect()}
    shares = {row.run: row.share for row in span.filter("leader_id = 0").collect()}
    return published, summary, runs, shares


def test_kip_794_slow_broker(slow_broker):
    published, summary, runs, shares = slow_broker
    for number, run in enumerate(published):
        skew, sent, share = summary[f"run-{number}"], runs[f"run-{number}"], shares[f"run-{number}"]
        payload = sent.records * run["record_size"]
        flags = sorted([*skew.quality_flags, *(flag for flag in sent.quality_flags if flag != "no_instant")])
        derived = (
            f"{sent.records_per_s / sent.asked_records_per_s:.3f}",
            f"{share:.3f}",
            f"{share / ((1 - share) / 2):.2f}",
            f"{skew.bytes / payload:.3f}",
            ", ".join(flags),
        )
        assert PUBLISHED_CELLS[f"{run['arm']}, {run['asked_records_per_s']}"] == derived


def test_kip_794_with_the_digit_that_is_apparently_missing(spark):
    (run,) = [run for run in lines_of("kip794_slow_broker.jsonl") if run["arm"] == "default-partitioner"]
    run["node_metrics"][0] = run["node_metrics"][0].replace("4682622.000", "46826220.000")
    found = silver(spark, [run])
    span = partition_skew_metrics(found[CLIENT_METRICS], found[RUNS])
    sent = payloads(found[PERF_SUMMARIES], found[RUNS])
    skew = partition_skew_summary(span, frame_of(spark, [], PARTITION_SKEW.schema), sent).first()
    share = span.filter("leader_id = 0").first().share

    assert skew.quality_flags == []
    said = re.search(r"its bytes are ([\d.]+) of the payload", PAGE.replace("\n", " "))[1]
    assert f"{skew.bytes / (122_880 * 512):.3f}" == said
    said = re.search(r"gets ([\d.]+) times the others' share", PAGE.replace("\n", " "))[1]
    assert f"{share / ((1 - share) / 2):.2f}" == said
