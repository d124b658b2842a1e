"""With pseudonyms, no file and no output but bronze has a client id, a principal, a host or an address."""

import gzip
import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from plotly.io.json import to_json_plotly
from typer.testing import CliRunner

from answers.exported.gold import ExportedGold
from answers.gold.reader import GoldReader
from answers.questions import QUESTIONS
from collectors.sources import sources_of
from conf.export import Export
from conf.settings import ScrapedEndpoint, Settings
from lab.topics import create_telemetry_topics
from serving.ask.cli import ask
from serving.dashboard.app import made
from serving.dashboard.filters import filters_of
from serving.dashboard.request import DashboardRequest
from tests.jvm_options import C1
from tests.live.test_ingest import ENDS_WITHIN_S, IngestSite
from tests.transforms.parse import change_lines, perf_lines
from tests.transforms.parse.records import CLIENT_LINES, REQUEST_LINES
from tests.transforms.parse.requests.admin_lines import reassign

pytestmark = pytest.mark.live

app = typer.Typer()
app.command()(ask)

CANARIES = ("canary-client", "canary-user", "canary-host", "203.0.113.7")
UMASK = 0o027
ERROR = REQUEST_LINES["example-error6-perf-4.3.1"]
ELECTION = (
    REQUEST_LINES["ELECT_LEADERS"]
    .replace(b"2026-11-21T09:19:46", b"2026-11-21T08:56:00")
    .replace(b"cons-1795252761", b"6mIsoWMRTfmFUJoSO1Ga2g")
)
FOUND_AGAIN = ERROR.replace(b"08:56:01", b"08:56:02").replace(b'"errorCode":6', b'"errorCode":0')
BAD = [
    b"canary-client has no stamp",
    ERROR[:900],
    ERROR.replace(b'"correlationId":1741', b'"correlationId":"canary-client"'),
    b"2026-11-21T09:00:00.000Z WARN Failed authentication of a client (203.0.113.7:40000)",
    CLIENT_LINES[0][:220].replace(b"broker-1-fetcher-0", b"canary-client"),
]
PAGE = (
    b'# TYPE kafka_server_produce_byte_rate gauge\nkafka_server_produce_byte_rate{user="canary-user",'
    b'client_id="canary-client"} 5\nkafka_server_fetcher_stats{clientId="ReplicaFetcherThread-0-1",'
    b'brokerHost="canary-host"} 1\nup{ip="203.0.113.7"} 1\nbad{client_id="canary-client"} x y z\n'
    b'kafka_producer_app_info{id="canary-client"} 1\nkafka_lag{consumer_id="canary-client-8f1e",'
    b'member_host="/203.0.113.7",group="canary-client"} 1\nkafka_x{broker="canary-host:9092",'
    b'instance="canary-host:9404",remote="203.0.113.7",client="canary-client",server="canary-host"} 1\n'
)
(SOURCE,) = sources_of(
    [ScrapedEndpoint(url="http://canary-host:9404/metrics?of=203.0.113.7&user=canary-user", node="broker-1")]
)
RUN = [
    *perf_lines.LINES,
    json.dumps(
        {
            "plumbline_run": {
                "run": "r9",
                "client_id": "canary-client",
                "started_at": "2026-11-21T09:00:00.0Z",
                "configuration": [*("--bootstrap-server", "canary-host:9092", "client.id=canary-client"),
                                  *("sasl.username=canary-user", "--x=bootstrap.servers=203.0.113.7:1")],
            }
        }
    ).encode(),
    perf_lines.AT + perf_lines.OF_NODE.replace(b"client-id=perf", b"client-id=canary-client"),
]  # fmt: skip


def disguised(line):
    """Return a line of a real broker with canaries for its client, principal, hosts and addresses."""
    line = re.sub(rb'"clientId":"(?!broker-\d)[^"]*"', b'"clientId":"canary-client"', line)
    line = re.sub(rb"clientId=(?!broker-\d)[\w.-]+", b"clientId=canary-client", line)
    line = re.sub(rb'"principal":"[^"]*"', b'"principal":"User:CN=canary-user"', line)
    line = re.sub(rb'"host":"[^"]*"', b'"host":"canary-host"', line)
    return re.sub(rb"-127\.0\.0\.1:", b"-203.0.113.7:", line)


class PrivateSite(IngestSite):
    """A warehouse of canaries whose ingest has a key, with what each command has printed."""

    def __init__(self, lab, folder):
        """Create the topics, write the settings and the key, and publish the lines."""
        super().__init__(lab, folder)
        create_telemetry_topics(lab, self.prefix, kinds=("state-change", "perf-test"), partitions=2)
        (folder / "key").write_text("k" * 32)
        text = self.conf.read_text()
        self.conf.write_text(
            text.replace("[ingest]\n", f'[ingest]\npseudonym_key_file = "{folder / "key"}"\n')
        )
        self.folder = folder
        (folder / "spark").mkdir()
        (folder / "events").mkdir()
        (folder / "spark" / "spark-defaults.conf").write_text(
            "spark.eventLog.enabled true\nspark.eventLog.compress false\n"
            f"spark.eventLog.dir {folder / 'events'}\n"
        )
        moved = reassign("t", {0: [1, 2]})
        # The lines of one day: a window of gold is built from the first performance test on.
        of_day = [line for line in REQUEST_LINES.values() if line.startswith(b"2026-11-21")]
        lines = [*of_day, ELECTION, moved, *BAD]
        self.send("request-log", lines)
        self.send("request-log", [FOUND_AGAIN], node="broker-2")
        self.send("client-log", [*CLIENT_LINES, *BAD])
        self.send("state-change", [*change_lines.LINES, *BAD])
        self.send("perf-test", RUN)
        self.publish("metrics", [("broker-1/scrape/1795252768987716710", PAGE)], source=SOURCE)

    def send(self, kind, lines, node="broker-1"):
        """Publish disguised lines."""
        placed = [(f"{node}/{kind}/{nth}", disguised(line)) for nth, line in enumerate(lines)]
        self.publish(kind, placed, node=node, time_zone="UTC")

    def command(self, *words):
        """Run a command in a process of its own; keep what it prints in a file."""
        environment = os.environ | {"SPARK_CONF_DIR": str(self.folder / "spark"), "JDK_JAVA_OPTIONS": C1}
        done = subprocess.run(
            [sys.executable, "-m", "plumbline", *words, "--conf", str(self.conf)],
            capture_output=True,
            check=False,
            env=environment,
            timeout=3 * ENDS_WITHIN_S,
            umask=UMASK,
        )
        printed = done.stdout + done.stderr
        assert done.returncode in {0, 1}, printed.decode()
        (self.folder / f"printed-{'-'.join(words[:2])}.txt").write_bytes(printed)


@pytest.fixture(scope="module")
def site(lab, tmp_path_factory):
    """Run every command over the canaries; return the site."""
    folder = tmp_path_factory.mktemp("private") / "site"
    folder.mkdir()
    site = PrivateSite(lab, folder)
    site.command("ingest", "--once")
    site.command("build-gold")
    site.command("check-quality", "--layer", "gold")
    files = ("--html", str(folder / "r.html"), "--json", str(folder / "r.json"))
    site.command("report", "--tables", *files, "--since", "30d")
    questions = [question.name for question in QUESTIONS if question.name not in {"pair", "incident"}]
    asked = [
        CliRunner().invoke(app, [name, "--json", "--since", "30d", "--conf", str(site.conf)])
        for name in questions
    ]
    assert [result.exit_code for result in asked] == [0] * len(questions)
    (folder / "asked.txt").write_text("".join(result.output for result in asked))
    gold = GoldReader.of_warehouse(site.warehouse)
    pages = [
        to_json_plotly(made(each, DashboardRequest(gold, filters_of("?span=30d")))) for each in QUESTIONS
    ]
    (folder / "pages.txt").write_text("\n".join(pages))
    (folder / "exported.txt").write_text("\n".join(map(str, exported(gold))))
    return site


def exported(gold):
    """Return the samples of the exporter as of each window; a scrape of now has none of this day."""
    ends = {row["window_start"].timestamp() + 10 for row in gold.rows("FROM gold.fetch_latency")}
    export = ExportedGold(gold, asdict(Export()))
    export.refresh()
    return export.samples(sorted(ends))


def text_of(file):
    """Return the bytes of a file, uncompressed; of a Parquet file, its values too."""
    content = file.read_bytes()
    if file.suffix == ".gz":
        return gzip.decompress(content)
    if file.suffix == ".parquet":
        values = pq.ParquetFile(file).read().to_pylist()
        return content + repr(values).encode()
    return content


def holders(files):
    """Return the files that hold each canary."""
    texts = {file: text_of(file) for file in files}
    return {canary: [file for file, text in texts.items() if canary.encode() in text] for canary in CANARIES}


def written(site, *, bronze):
    bronze_folder = site.warehouse / "bronze"
    inputs = {site.conf}
    files = (file for file in site.folder.rglob("*") if file.is_file() and file not in inputs)
    return [file for file in files if file.is_relative_to(bronze_folder) == bronze]


def test_only_bronze_has_the_names_and_addresses_of_clients(site):
    assert all(holders(written(site, bronze=True)).values())  # the search finds them where they are
    assert holders(written(site, bronze=False)) == {canary: [] for canary in CANARIES}


def test_the_lines_reach_every_table_and_page_that_could_show_them(site):
    """Else nothing could be found there."""
    reader = GoldReader.of_warehouse(site.warehouse)
    rows = {
        table: reader.rows(f"FROM {table}")
        for table in (
            *("silver.requests", "silver.client_events", "silver.quarantine", "silver.skipped"),
            *("gold.fetch_latency", "gold.leader_redirect", "gold.metadata_lookup"),
            *("gold.partition_skew", "gold.produce_held"),
        )
    }
    assert [name for name, found in rows.items() if not found] == []
    redirect = next(row for row in rows["gold.leader_redirect"] if row["moved_by"])
    assert re.fullmatch(r"ELECT_LEADERS client-[0-9a-f]{16} User:[0-9a-f]{16}", redirect["moved_by"])
    assert {row["reason"] for row in rows["silver.quarantine"]} >= {
        "no_timestamp",
        "truncated_line",
        "bad_sample",
    }
    assert any((row["logger"] or "").startswith("logger-") for row in rows["silver.skipped"])
    shown = "".join(file.read_text() for file in (site.folder / "r.html", site.folder / "pages.txt"))
    assert redirect["client_id"] in shown
    assert redirect["client_id"] in (site.folder / "exported.txt").read_text()


def test_roots_are_of_their_user_alone_and_all_else_obeys_the_umask(site):
    roots = [site.warehouse, Path(Settings.load(site.conf).warehouse.checkpoints)]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for root in roots for path in (root, *root.rglob("*"))}

    assert [modes[root] for root in roots] == [0o700, 0o700]
    assert {path: oct(mode) for path, mode in modes.items() if mode & UMASK} == {}
    others = {mode for path, mode in modes.items() if path not in roots}
    assert others == {0o640, 0o750}
