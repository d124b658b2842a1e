"""What of scenario `throttle` needs no broker: pages that are kept, and what is taken back."""

import json
import threading
import time
from pathlib import Path
from queue import Queue

import pytest

from collectors.scrape import Scrape
from conf.settings import ScrapedEndpoint
from lab import config, crash, load
from lab.errors import LabError
from lab.throttle import limits, pages, scenario
from lab.throttle.facts import PartRecord
from lab.throttle.parts import BY_NAME
from lab.truth import iso
from tests.http_pages import PageHandler, serving

PAGE = b"kafka_server_LeaderReplication_byte_rate 65.9\n"


class _OnePage(PageHandler):
    """Answers every request with one short page."""

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


@pytest.fixture
def exporting(laid_out):
    """Brokers 1 and 2 have an exporter; the third one's port answers nobody."""
    with serving(_OnePage) as server:
        for broker in laid_out.brokers:
            Path(broker.logs).mkdir(parents=True)
            if broker.id < 3:
                object.__setattr__(broker, "exporter_port", server.server_port)
        config.write_all(laid_out)
        yield laid_out


def rules(lab):
    return {(lab.state / f"broker-{broker_id}" / "exporter.yaml").read_text() for broker_id in lab.broker_ids}


def test_pages_are_kept_whole_by_node_and_instant_and_a_failed_scrape_has_a_line(exporting, tmp_path):
    journal = tmp_path / "scrapes.jsonl"
    with pages.recorded_pages(exporting, journal, interval_s=0.2):
        time.sleep(0.7)
    tries = [json.loads(line) for line in journal.read_text().splitlines()]
    files = sorted((exporting.state / "logs").glob("*/*.prom"))

    assert {file.parent.name for file in files} == {"broker-1", "broker-2"}
    assert {file.read_bytes() for file in files} == {PAGE}
    assert sorted(one["file"] for one in tries if one["file"]) == [str(file) for file in files]
    assert {one["at"] for one in tries if one["file"]} == {iso(int(file.stem)) for file in files}
    assert all(file.stat().st_mtime_ns == int(file.stem) for file in files)
    assert {one["node"] for one in tries if one["file"] is None} == {"broker-3"}


def test_a_scrape_that_came_before_the_end_is_kept_after_it(laid_out, tmp_path):
    stop, results = threading.Event(), Queue()
    failed = Scrape(ScrapedEndpoint(url="http://127.0.0.1:1", node="broker-1"), 0.1, None)
    results.put(failed)
    results.put(failed)
    stop.set()
    pages._write(laid_out, tmp_path / "scrapes.jsonl", results, stop)

    assert len((tmp_path / "scrapes.jsonl").read_text().splitlines()) == 2


def test_exporters_show_replication_alone_for_the_time_of_the_scenario(exporting, tmp_path):
    """And all they have afterwards, however it ends."""
    before = rules(exporting)
    during = []

    def interrupted():
        with pages.recorded_pages(exporting, tmp_path / "scrapes.jsonl"):
            during.extend(rules(exporting))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert before == {config.EXPORTER_DEFAULT_RULES} == {"{}\n"}
    assert during == [config.EXPORTER_REPLICATION_RULES]
    assert rules(exporting) == before


@pytest.fixture
def noted(laid_out, monkeypatch):
    """Give a part that ends so; it notes what is done to the cluster, in order."""
    done = []
    monkeypatch.setattr(limits, "clear", lambda _lab, topic: done.append(f"clear {topic}"))
    monkeypatch.setattr(scenario.topics, "delete_many", lambda _lab, names: done.append(f"delete {names}"))

    class RunningMove:
        def cancel(self):
            done.append("cancel")
            message = "no move there"
            raise LabError(message)

    def part(error, **at_ns):
        record = PartRecord(BY_NAME["a"], "t", BY_NAME["a"].placements([1, 2, 3]), at_ns=at_ns)
        with scenario._clean_up(laid_out, record, RunningMove(), done.append):
            if error:
                raise error
        return done

    part.done = done
    return part


def test_a_part_that_ends_well_deletes_its_topic_and_no_more(noted):
    assert noted(None, asked=1, done=2) == ["delete ['t']"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), LabError("x")])
def test_a_part_that_breaks_off_cancels_its_move_and_clears_its_limits(noted, error):
    """The tool may fail, since the move may not have begun: the limits are cleared all the same."""
    with pytest.raises(type(error)):
        noted(error, asked=1)

    assert noted.done[1:] == ["cancel", "no move there", "clear t", "delete ['t']"]


@pytest.mark.parametrize("at_ns", [{}, {"asked": 1, "done": 2}])
def test_what_does_not_move_is_not_cancelled(noted, at_ns):
    with pytest.raises(LabError):
        noted(LabError("x"), **at_ns)

    assert noted.done[1:] == ["clear t", "delete ['t']"]


def test_a_throttle_that_is_there_already_is_not_taken_for_ours(laid_out, monkeypatch):
    laid_out.save()
    monkeypatch.setattr(limits, "current_rates", lambda _lab: {2: {limits.RATES[0]: 5}})

    with pytest.raises(LabError, match=r"broker 2: leader\.replication\.throttled\.rate.*remove it"):
        scenario.run(laid_out.state, scenario.ThrottlePlan())


def test_a_load_that_ends_too_early_is_an_error(laid_out, monkeypatch):
    class Running:
        is_alive, output = False, "load.txt"

        def wait_until_producing(self):
            pass

        def stop(self):
            pass

    monkeypatch.setattr(load, "begin", lambda _lab, _load: Running())

    with (
        pytest.raises(LabError, match="ended before its part"),
        scenario._producing(laid_out, scenario.TRICKLE),
    ):
        pass


def test_a_broker_that_does_not_run_cannot_be_shut_down(laid_out):
    laid_out.processes = {"broker-2": {"pid": 2**22, "created_at": 0.0}}
    laid_out.save()

    with pytest.raises(LabError, match=r"broker 2 .* does not run"):
        crash.shut_down(laid_out.state, 2)
