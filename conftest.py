"""
What all tests share: one Spark session in UTC, and their order.

With `--no-skips` a skipped test is a failure, as in CI.
"""

import os
import sys
import time
import warnings
from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestItem
from pyspark.sql import SparkSession

from tests.workers import KindScheduling, file_of, place

os.environ["TZ"] = "UTC"
time.tzset()

# A worker of pytest-xdist has a main module without a file. PySpark 4.2 takes that for a run of its doctests
# and ends the process when Great Expectations imports `pyspark.sql.connect`, which wants grpc.
vars(sys.modules["__main__"]).setdefault("__file__", __file__)

# Hotspot's own thresholds are for servers: compiling Spark's planner with C2 took a fifth of the CPU time of
# `test_parts_in_any_order_give_what_is_built_at_once` (154 CPU-s; 124 with these, 118 without C2).
C2_LATE = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=5000 -XX:Tier4CompileThreshold=40000"
    " -XX:Tier4BackEdgeThreshold=200000"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--no-skips`."""
    parser.addoption("--no-skips", action="store_true", help="fail when a test was skipped")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Put the longest files first.

    Raises:
        UsageError: a test that measures is outside of `tests/live`, where `make test` runs those tests.

    """
    items.sort(key=lambda item: place(file_of(item.nodeid)))
    measuring = {file_of(item.nodeid) for item in items if item.get_closest_marker("measures")}
    if lost := sorted(file for file in measuring if not file.startswith("tests/live/")):
        message = f"{', '.join(lost)}: tests that measure must be in tests/live, or `make test` omits them"
        raise pytest.UsageError(message)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Return the scheduler for `--dist loadfile`; None for another distribution."""
    return KindScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn skipped tests into a failed run when asked to."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter and reporter.stats.get("skipped"):
        reporter.write_line("a skipped test is a failure here (--no-skips)", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """Return the local session that the jobs use, with Delta, sized for tests."""
    from conf.settings import Settings, Spark  # noqa: PLC0415 (only tests that need Spark pay for it)
    from engine.process.session import DEFAULT_JVM_OPTIONS, JVM_OPTIONS_BY_APP, spark_session  # noqa: PLC0415

    JVM_OPTIONS_BY_APP["tests"] = f"{DEFAULT_JVM_OPTIONS} {C2_LATE}"
    settings = Settings(spark=Spark(master="local[2]", shuffle_partitions=2))
    session = spark_session(settings, "tests")
    # A handful of rows is quicker interpreted; the live tests run the jobs as they are, compiled.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    _forgive_sockets_of_pyspark(request.config)
    yield session
    session.stop()


def _forgive_sockets_of_pyspark(config: pytest.Config) -> None:
    """PySpark leaves the sockets of `collect` to the garbage collector: forgiven once there is a session."""
    message = r"unclosed <socket.*raddr=\('127.0.0.1'"
    warnings.filterwarnings("ignore", message, ResourceWarning)
    config.addinivalue_line("filterwarnings", f"ignore:{message}:ResourceWarning")


@pytest.fixture(autouse=True)
def _spark_of_doctests(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    if isinstance(request.node, DoctestItem):
        doctest_namespace["spark"] = request.getfixturevalue("spark")
