"""The tables of the demo: whether every line is in them, and the dashboard that shows them."""

import json
import sys
from pathlib import Path
from urllib.request import urlopen

from answers.gold.reader import GoldReader
from answers.questions import QUESTIONS
from conf.http_hosts import names_of
from conf.settings import Settings
from engine.ingest.checkpoints import unread
from engine.ingest.positions import checkpoint_of, topics_of
from engine.ingest.sources import QUERIES
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from serving.dashboard.app import make
from serving.dashboard.filters import Filters
from serving.dashboard.request import DashboardRequest
from serving.dashboard.serve import served


def is_read(settings: Settings) -> bool:
    """Return whether ingest has read every record in the topics."""
    return not any(
        unread(settings.telemetry, topic, checkpoint_of(settings, query))
        for query in QUERIES
        for topic in topics_of(settings, query)
    )


def is_built(warehouse: Path) -> bool:
    """Return whether gold was built from the newest silver, by the versions in its newest commit."""
    commits = {table: _commits(warehouse, table) for table in (REQUESTS, CLIENT_EVENTS, BROKER_RTT)}
    actions = [json.loads(line) for line in commits[BROKER_RTT][-1].read_text().splitlines()]
    metadata = next(action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action)
    built_from = json.loads(metadata)["built_from"] if metadata else {}
    return all(
        built_from.get(f"silver.{table.name}", -1) >= int(commits[table][-1].stem)
        for table in (REQUESTS, CLIENT_EVENTS)
    )


def _commits(warehouse: Path, table: Table) -> list[Path]:
    return sorted((warehouse / table.layer / table.name / "_delta_log").glob("[0-9]*.json"))


def opened(state: Path) -> str:
    """Serve the dashboard once to prove that its first page opens; return the command to start it."""
    gold = GoldReader.of_warehouse(state / "warehouse")
    with served(make(gold, names_of("127.0.0.1"))) as address, urlopen(address):  # noqa: S310 (a local address)
        answer = QUESTIONS[0].answer(DashboardRequest(gold, Filters()).selection)
    return f"{command('dashboard', state)}\n  it says: {answer.headline.sentence}"


def command(words: str, state: Path) -> str:
    """Return a command of Plumbline that reads the tables of the demo."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "plumbline" else "plumbline"
    return f"{program} {words} --conf {state / 'lab' / 'lab.toml'}"
