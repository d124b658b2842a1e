"""Tables to maintain, made once a module."""

import pytest

from engine.delta import tables
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.metrics import METRIC_SAMPLES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.engine.maintain.made_tables import Tables


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    for table in (
        REQUEST_LOG,
        CLIENT_LOG,
        REQUESTS,
        CLIENT_EVENTS,
        QUARANTINE,
        SKIPPED,
        TOPICS,
        METRIC_SAMPLES,
        DATA_QUALITY,
    ):
        tables.ensure(spark, root, table)
    return root


@pytest.fixture
def warehouse(spark, tmp_path, made):
    return Tables(spark, tmp_path, made)
