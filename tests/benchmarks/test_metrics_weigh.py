"""Both stores give back every sample, and a difference of one bit is seen."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.metrics import blocks, page, samples
from benchmarks.metrics.delta import in_delta

TEXT = '# TYPE a untyped\na{{x="1 {{2}}",y="q\\"\\\\"}} {0}\nb 0.0\nc NaN\nd{{}} {1}\n'
START_NS, EVERY_NS = 1_795_419_428_175_209_667, 10_000_000_000


@pytest.fixture
def held(tmp_path):
    for node, nth in ((node, nth) for node in ("broker-1", "broker-2") for nth in range(4)):
        folder = tmp_path / "pages" / node
        folder.mkdir(parents=True, exist_ok=True)
        text = TEXT.format(0.1 * nth, ("-0.0", "+Inf", "-Inf", "5e-324")[nth])
        at_ns = START_NS + nth * EVERY_NS + nth * 3_000_000
        (folder / f"{at_ns}.prom.gz").write_bytes(gzip.compress(text.encode()))
    return samples.read(tmp_path / "pages")


@pytest.fixture
def arm(held, tmp_path, spark):
    return page.StorePair(
        delta=in_delta(held, tmp_path / "warehouse", spark),
        blocks=blocks.in_blocks(held, tmp_path / "2h", longest="2h"),
        merged=blocks.in_blocks(held, tmp_path / "24h", longest="24h"),
    )


def test_both_stores_give_every_sample_back_and_are_weighed(held, arm, tmp_path):
    weighed = page.Weighed(
        samples=len(held),
        series=8,
        pages=8,
        nodes=2,
        seconds=40,
        page_bytes=9,
        changing=0.5,
        scraped=arm,
        on_time=arm,
    )
    path = tmp_path / "page.md"
    path.write_text("# Performance\n\nof others\n")
    page.write(weighed, path)
    page.write(weighed, path)

    assert len(held) == 8 * 4
    assert weighed.is_lossless
    assert (
        arm.blocks.total
        == arm.blocks.index + arm.blocks.chunks + arm.merged.total - arm.merged.index - arm.merged.chunks
    )
    assert arm.delta.files == 1
    assert min(arm.delta.samples, arm.delta.series, arm.delta.log, arm.delta.young) > 0
    assert path.read_text().count("**All are the same**") == 1
    assert "of others" in path.read_text()


def test_one_bit_and_one_missing_sample_are_seen(held):
    told = held.in_order(1_000)
    last = held.pages[-1]
    changed = replace(last, values=np.nextafter(last.values, 1.0))
    shorter = replace(last, series=last.series[1:], values=last.values[1:])

    assert samples.is_same(told, held.in_order(1_000))
    for other in (changed, shorter, replace(last, at_ns=last.at_ns + 1_000)):
        assert not samples.is_same(told, replace(held, pages=[*held.pages[:-1], other]).in_order(1_000))


def test_blocks_that_hold_another_value_are_told(held, tmp_path, monkeypatch):
    monkeypatch.setattr(
        blocks, "_number", lambda value: "0.3" if value == 0.1 * 3 else repr(value).replace("nan", "NaN")
    )

    assert not blocks.in_blocks(held, tmp_path / "2h", longest="2h").is_lossless


def test_on_time_pages_lie_on_a_grid_of_their_node(held):
    ats = [each.at_ns for each in held.on_time(10).pages if held.node_of(each) == "broker-2"]

    assert ats == [START_NS + nth * EVERY_NS for nth in range(4)]
