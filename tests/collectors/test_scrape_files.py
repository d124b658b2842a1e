"""Scrapes saved as files: one page or many, each with the instant that it tells."""

import gzip

import pytest

from collectors import scrape_files
from collectors.log_files.lines import DamagedFileError
from collectors.scrape_files import read_scrapes

AT = "1795252768000000000"


def places(path):
    return [(line.position, line.value) for line in read_scrapes(path, "broker-1")]


@pytest.mark.parametrize("name", ["jmx-2026-11-21T09:19:28Z.prom", "1795252768.prom.gz"])
def test_the_name_tells_the_instant(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"up 1\n") if name.endswith("gz") else b"up 1\n")

    assert places(path) == [(f"broker-1/scrape/{AT}", b"up 1\n")]


def test_a_line_of_the_page_goes_before_the_name(tmp_path):
    path = tmp_path / "1795252000.prom"
    path.write_bytes(b"# HELP up\n# scraped_at 2026-11-21T09:19:28Z\nup 1\n")

    assert places(path) == [(f"broker-1/scrape/{AT}", path.read_bytes())]


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 100_000])
def test_a_file_may_hold_many_pages_each_behind_its_line(tmp_path, monkeypatch, block_bytes):
    """Wherever the blocks end in which the file is read."""
    path = tmp_path / "all.prom"
    path.write_bytes(b"\n# scraped_at 1795252768\nup 1\n# scraped_at 1795252778.5\nup 2\nup 3")
    blocks = [path.read_bytes()[at : at + block_bytes] for at in range(0, 1_000, block_bytes)]
    monkeypatch.setattr(scrape_files, "read_blocks", lambda *_, **__: iter(blocks))

    assert places(path) == [
        (f"broker-1/scrape/{AT}", b"\n# scraped_at 1795252768\nup 1\n"),
        ("broker-1/scrape/1795252778500000000", b"# scraped_at 1795252778.5\nup 2\nup 3"),
    ]


def test_the_last_change_of_a_file_is_no_instant(tmp_path):
    path = tmp_path / "jmx.prom"
    path.write_bytes(b"up 1\n")

    assert places(path)[0][0].startswith("broker-1/page/")


def test_a_page_is_taken_as_far_as_the_parser_reads_and_one_byte_more(tmp_path, monkeypatch):
    monkeypatch.setattr(scrape_files, "PAGE_BYTES", 100)
    path = tmp_path / "1795252768.prom"
    path.write_bytes(b"x" * 1_000_000)

    assert 100 < len(places(path)[0][1]) < 200


def test_what_was_read_before_the_damage_is_kept(tmp_path):
    path = tmp_path / "all.prom.gz"
    path.write_bytes(gzip.compress(b"# scraped_at 1795252768\nup 1\n# scraped_at 1795252769\nup 2\n")[:-12])
    pages = read_scrapes(path, "broker-1")

    with pytest.raises(DamagedFileError, match="broker-1/pages/"):
        list(pages)
