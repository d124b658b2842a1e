"""The sentence on top of the page."""

import pytest

from answers.slow_links.culprits import findings, headline, is_accused, windows_in_full
from tests.serving.report import gold_rows
from tests.serving.report.gold_rows import NAMELESS, NO_CULPRIT, at

LINK = {**NAMELESS, "culprit": "link", "follower_id": 3, "leader_id": 1}
SIDE = {**NAMELESS, "culprit": "follower_side", "broker_id": 2, "follower_id": 2}


def window(nth, verdict, *, since=None, evidence=20.0, effect_ms=9.8, **more):
    accused = verdict["culprit"] not in {"none", "not_enough_data"}
    return {
        "window_start": at(nth),
        **verdict,
        "effect_ms": effect_ms if accused else None,
        "since": at(since) if since is not None else None,
        "evidence": evidence if accused else 0.0,
        **more,
    }


def test_open_finding_is_in_the_present_since_its_onset():
    shown = headline(gold_rows.culprits(gold_rows.LINK))

    assert shown.sentence == "Broker 3's link to broker 1 is slow by 20.0 ms since 11:04:20 UTC."
    assert shown.mood == "alarm"


def test_margin_that_is_larger_than_the_capped_ratio_says_so():
    """The recorded example: the second-best culprit is better than "no culprit", which the cap hides."""
    side = {**NAMELESS, "culprit": "leader_side", "broker_id": 1, "leader_id": 1}
    shown = headline([window(0, LINK, since=0, evidence=37.8, runner_up=side, runner_up_margin=86.8)])

    ratio, margin = shown.evidence[-2:]
    assert ratio == (
        'Log-likelihood ratio against "no culprit": at least 37.8, as each window counts only up to a limit.'
    )
    side_is = "broker 1's serving side, whose log-likelihood is 86.8 lower (without that limit)."
    assert margin == f"Second-best culprit: {side_is}"


def test_windows_that_figures_cover_are_named_with_an_onset_before_them():
    """The window of the onset accuses no broker yet, so it is not among those with the full effect."""
    rows = [window(0, NO_CULPRIT), window(1, LINK, since=0), window(2, LINK, since=0)]
    (finding,) = findings(rows)

    between = "2 windows of 10 s between 11:03:10 and 11:03:30 UTC"
    onset = "(its onset, 11:03:00, is earlier)"
    assert windows_in_full(finding) == f"the {between} that show the finding in full {onset}"
    assert headline(rows).evidence[0] == (
        f"On 2026-11-21, named in 2 windows of 10 s; shown in full by {between} {onset}."
    )
    (since_then,) = findings([window(1, LINK, since=1)])
    assert windows_in_full(since_then) == (
        "the 1 window of 10 s between 11:03:10 and 11:03:20 UTC that shows the finding in full"
    )


def test_past_finding_has_its_end():
    shown = headline(
        [window(0, NO_CULPRIT), window(1, LINK, since=1), window(2, LINK, since=1), window(3, NO_CULPRIT)]
    )

    assert shown.sentence == "Broker 3's link to broker 1 was slow by 9.8 ms from 11:03:10 to 11:03:30 UTC."


def test_finding_whose_typical_effect_is_below_nothing_is_a_finding_all_the_same():
    (finding,) = findings([window(0, LINK, since=0, effect_ms=-0.54), window(1, NO_CULPRIT)])

    assert (finding.core, finding.until) == ((at(0),), at(1))


def test_open_finding_comes_before_a_stronger_past_one():
    shown = headline(
        [
            window(0, SIDE, since=0, evidence=99.0),
            window(1, NO_CULPRIT),
            window(2, LINK, since=2, evidence=12.0),
        ]
    )

    assert shown.sentence.startswith("Broker 3's link to broker 1 is slow")
    assert any(line.startswith("Also found: Broker 2's fetching side was slow") for line in shown.evidence)


def test_window_without_enough_data_does_not_end_a_finding():
    missing = {**NAMELESS, "culprit": "not_enough_data"}

    found = findings([window(0, LINK, since=0), window(1, missing), window(2, LINK, since=0)])

    assert [(one.since, one.until, one.windows) for one in found] == [(at(0), at(3), 2)]


@pytest.mark.parametrize(
    ("between", "after", "n"),
    [([NO_CULPRIT], LINK, 1), ([NO_CULPRIT], SIDE, 2), ([NO_CULPRIT, NO_CULPRIT], LINK, 2)],
    ids=["one quiet window", "another shape after it", "two quiet windows"],
)
def test_only_a_single_quiet_window_within_one_shape_is_bridged(between, after, n):
    rows = [LINK, LINK, *between, after, after]

    found = findings([window(nth, row, since=nth) for nth, row in enumerate(rows)])

    assert len(found) == n


def test_first_tied_windows_belong_to_the_shape_that_was_named_after_them():
    tie = {**NAMELESS, "culprit": "ambiguous", "tied": [LINK, SIDE]}

    found = findings([window(0, tie, since=0, evidence=30.0), window(1, LINK, since=0, evidence=25.0)])

    assert [one.row["culprit"] for one in found] == ["link"]


def test_tie_is_named_as_a_tie():
    shown = headline(gold_rows.culprits(gold_rows.TIE, 6.0))

    assert shown.sentence == (
        "Something is slow by 6.0 ms since 11:04:20 UTC, but the data cannot tell which: "
        "broker 2's fetching side or broker 3's serving side."
    )
    assert shown.mood == "unsure"


def test_quiet_span_accuses_no_broker():
    assert headline(gold_rows.culprits(NO_CULPRIT)).sentence == "No broker, side or link stands out."


def test_too_little_data_is_not_called_healthy():
    missing = {**NAMELESS, "culprit": "not_enough_data"}
    shown = headline([window(0, missing, pairs_seen=1, pairs_expected=6)])

    assert (shown.mood, shown.sentence) == ("unsure", "Not enough data to say who is slow.")
    assert "at best 1 of 6 pairs" in shown.evidence[0]


def test_no_window_at_all_is_not_enough_data():
    assert headline([]).sentence == "Not enough data to say who is slow."


def test_effect_is_the_median_window_and_not_the_last():
    effects = [9.0, 10.0, 55.0]
    rows = [window(nth, LINK, since=0, effect_ms=effect) for nth, effect in enumerate(effects)]

    assert findings(rows)[0].row["effect_ms"] == 10.0


def test_broker_accuses_its_links_in_both_directions():
    broker = {**NAMELESS, "culprit": "broker", "broker_id": 2}

    accused = {pair for pair in gold_rows.LEVELS if is_accused(broker, *pair)}

    assert accused == {(1, 2), (3, 2), (2, 1), (2, 3)}


def test_side_with_broker_id_alone_still_accuses_that_side():
    side = {**NAMELESS, "culprit": "leader_side", "broker_id": 2}

    assert {pair for pair in gold_rows.LEVELS if is_accused(side, *pair)} == {(1, 2), (3, 2)}


def test_lingering_name_does_not_make_a_finding_look_open():
    """A name goes up to two windows after the fault; those windows show no effect any more."""
    rows = [window(0, LINK, since=0), window(1, LINK, since=0), window(2, LINK, since=0, effect_ms=0.3)]

    (found,) = findings(rows)

    assert (found.is_open, found.until, found.core) == (False, at(2), (at(0), at(1)))


def test_windows_half_in_quiet_time_are_not_part_of_the_core():
    effects = [4.0, 10.0, 10.0, 10.0]

    (found,) = findings([window(nth, LINK, since=0, effect_ms=effect) for nth, effect in enumerate(effects)])

    assert found.core == (at(1), at(2), at(3))
    assert found.is_open
