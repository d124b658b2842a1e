"""Whatever happens to a line, it is kept, quarantined or skipped: one of them, once, with its bytes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.transforms.parse.raw_rows import CLIENT_LINES, DATA, raw
from transforms.parse import client_log, request_log

REQUEST_LINES = [file.read_bytes().strip() for file in sorted(DATA.joinpath("request-log").glob("*.txt"))]
SHORT = [line for line in REQUEST_LINES if len(line) < 2_000]


@st.composite
def damaged(draw, lines):
    line = draw(st.sampled_from(lines))
    at = draw(st.integers(0, len(line)))
    other = draw(st.sampled_from(lines))
    byte = bytes([draw(st.integers(0, 255))])
    return draw(
        st.sampled_from(
            [
                line,
                line[:at],
                line[at:],
                line + other,
                line[:at] + other,
                line[:at] + byte + line[at + 1 :],
                b"",
            ]
        )
    )


PARSERS = [
    pytest.param(SHORT, request_log.parse_request_log, request_log, b"Completed request:", id="request_log"),
    pytest.param(
        CLIENT_LINES, client_log.parse_client_log, client_log, client_log.MARK.encode(), id="client_log"
    ),
]


@pytest.mark.parametrize(("lines", "parse", "module", "mark"), PARSERS)
def test_lines_in_are_lines_kept_quarantined_and_skipped(spark, lines, parse, module, mark):
    @settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(damaged(lines), min_size=150, max_size=250))
    def check(values):
        parsed = parse(raw(spark, values)).cache()
        try:
            kept = {row.position for row in module.kept(parsed).select("position").collect()}
            bad = {row.position: bytes(row.value) for row in module.quarantined(parsed).collect()}
            skipped = sum(row.lines for row in module.skipped(parsed, batch_id=0).collect())
            assert len(kept) + len(bad) + skipped == len(values) == parsed.count()
            assert not kept & bad.keys()
            assert all(values[int(position.split("/")[1])] == value for position, value in bad.items())
            told = kept | bad.keys()
            assert [v for n, v in enumerate(values) if mark in v and f"p/{n}" not in told] == []
        finally:
            parsed.unpersist()

    check()
