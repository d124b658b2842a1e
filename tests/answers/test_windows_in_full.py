"""Which windows the figures of a finding cover, on all pages that show them."""

from dataclasses import replace

from answers.fetches import question as fetches
from answers.slow_links import pair
from answers.slow_links import question as slow_links
from schemas.gold.broker_rtt import BROKER_RTT
from tests.answers.selected import selected
from tests.serving.report import gold_rows
from tests.serving.report.gold_rows import LINK, ONSET, at

IN_FULL = (
    "the 9 windows of 10 s between 11:04:30 and 11:06:00 UTC that show the finding in full "
    "(its onset, 11:04:20, is earlier)"
)


def lead_of_matrix(selection):
    return slow_links.answer(selection).sections[0].lead


def test_matrix_pair_and_fetches_name_the_windows_of_their_figures():
    gold = gold_rows.slow_link()
    compared = next(one for one in fetches.answer(gold).sections if one.name == "dashboard")

    assert lead_of_matrix(gold) == f"Rows fetch, columns serve. Figures of {IN_FULL}."
    assert f"over {IN_FULL}, 95 % interval" in pair.answer(replace(gold, pair=(3, 1))).headline.evidence[0]
    assert compared.blocks[0].lines[0] == f"Percentiles of {IN_FULL}."


def test_without_a_finding_the_figures_are_of_the_whole_span():
    assert lead_of_matrix(gold_rows.healthy()) == (
        "Rows fetch, columns serve. Figures of the whole span, 11:03:00 to 11:06:00 UTC."
    )


def test_figures_of_brokers_without_round_trips_then_are_of_the_whole_span():
    """Broker 2 has no round trip while the link is slow: its figures are those of before."""
    tables = gold_rows.tables({(3, 1)}, LINK)
    is_of_two = [2 in (row["follower_id"], row["leader_id"]) for row in tables[BROKER_RTT]]
    tables[BROKER_RTT] = [
        row
        for row, of_two in zip(tables[BROKER_RTT], is_of_two, strict=True)
        if not of_two or row["window_start"] < at(ONSET)
    ]
    gold = selected(tables)

    assert lead_of_matrix(replace(gold, broker=2)) == (
        "Rows fetch, columns serve. Figures of the whole span, 11:03:00 to 11:04:20 UTC."
    )
