"""What the report makes of KIP-951's claim, and where it does not judge."""

from math import comb

import pytest

from answers.leader_redirects.kip_951 import claims, median_interval
from tests.serving.report import client_rows

VERSIONS = ("3.6.0", "3.9.1")


def events(n, **changes):
    """Give so many redirects of a version that is told the new leader and of one that is not."""
    return [client_rows.redirect(version, nth) | changes for version in VERSIONS for nth in range(n)]


def test_claim_that_does_not_hold_is_said_plainly():
    swamped = [row | {"redirect_ms": 1000.0, "broker_part_ms": 900.0} for row in events(20)]

    said = claims(swamped)

    assert said[0] == (
        "orders (PRODUCE): 1,000 ms (n = 20; 1,000 to 1,000) with the new leader in the answer, "
        "1,000 ms (n = 20; 1,000 to 1,000) without (3.6.0): KIP-951's claim does not show here"
    )
    assert said[1].startswith("orders (PRODUCE): clients met the moves of 20 partitions in 40 redirects; ")
    assert "% of the time is the brokers' part, more than the clients' part" in said[1]


def test_claim_that_few_redirects_do_not_show_is_left_open():
    assert claims(events(19, redirect_ms=50.0))[0].endswith("without (3.6.0): too few to tell")
    assert claims(events(20, redirect_ms=50.0))[0].endswith("KIP-951's claim does not show here")


def test_few_redirects_that_lie_apart_do_show_the_claim():
    assert claims(events(6))[0].endswith("as KIP-951 claims")


def test_five_redirects_have_no_interval_and_no_verdict():
    few = [row for row in events(18) if row["software_version"] == "3.9.1" or row["partition"] < 5]

    (said,) = claims(few)

    assert said.endswith("102 ms (n = 5) without (3.6.0): too few to tell")
    assert "(n = 18; " in said


def test_consumers_are_compared_apart_from_producers():
    of_both = [row | {"api": api} for row in events(20, redirect_ms=50.0) for api in ("FETCH", "PRODUCE")]

    compared = [line for line in claims(of_both) if "with the new leader in the answer" in line]

    assert [line.split(":")[0] for line in compared] == ["orders (PRODUCE)", "orders (FETCH)"]
    assert all(line.endswith("KIP-951's claim does not show here") for line in compared)


def test_brokers_part_that_does_not_swamp_is_said_with_what_it_rests_on():
    many = [row | {"partition": n} for n, row in enumerate(events(60))]

    said = claims(many)

    assert said[1] == (
        "orders (PRODUCE): clients met the moves of 120 partitions in 120 redirects; 1.2 % of the time is "
        "the brokers' part, less than the clients' part"
    )


@pytest.mark.parametrize(("moves", "lines"), [(19, 1), (20, 2)])
def test_brokers_part_that_does_not_swamp_is_said_from_20_partitions_on(moves, lines):
    assert len(claims(events(moves))) == lines


def test_redirects_without_an_end_are_not_compared():
    unended = events(1, redirect_ms=None, client_part_ms=None, broker_part_ms=None)

    assert claims([*events(6), *unended]) == claims(events(6))


def test_without_both_kinds_of_clients_there_is_nothing_to_compare():
    assert claims([row for row in events(20) if row["hinted"]]) == []
    assert claims([]) == []


@pytest.mark.parametrize("n", range(6, 400))
def test_interval_holds_the_median_in_95_of_100_cases(n):
    low, high = median_interval([float(nth) for nth in range(1, n + 1)])

    # It misses when fewer than `low` of n fair coins show heads, or more than `high`.
    missed = 2 * sum(comb(n, heads) for heads in range(int(low))) / 2**n
    assert (missed <= 0.05, high) == (True, n + 1 - low)


@pytest.mark.parametrize("n", range(6))
def test_below_six_there_is_no_interval(n):
    assert median_interval([1.0] * n) is None
