"""What all tests share: with `--no-skips` a skipped test is a failure, as in CI."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--no-skips`."""
    parser.addoption("--no-skips", action="store_true", help="fail when a test was skipped")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn skipped tests into a failed run when asked to."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter and reporter.stats.get("skipped"):
        reporter.write_line("a skipped test is a failure here (--no-skips)", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
