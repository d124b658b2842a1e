"""
Log-bucket histograms: they keep 1 %, add up, and their intervals cover what they promise.

The macros of `answers.histogram` and `transforms.quantiles` read what `transforms.sql.bucket` writes; a
reader in plain Python gives the expected values.
"""

import math
import random
from itertools import accumulate

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.gold.histogram import MACROS, added_up
from schemas.histogram import GAMMA, LN_GAMMA, OFFSET, RANK_SLACK, RELATIVE_ERROR, SMALLEST_MS, Z_95
from transforms import sql
from transforms.quantiles import Histograms

few = settings(max_examples=40, deadline=None)
milliseconds = st.floats(-1e6, 1e6, allow_nan=False).map(lambda ms: 0.0 if abs(ms) < 1e-6 else ms)
HIST = pa.map_(pa.int32(), pa.int64())
DICE = random.Random(7)


@pytest.fixture(scope="module")
def db():
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        yield connection


def histogram_of(values):
    """Bucket by the same rule in NumPy."""
    keys = np.ceil(np.log(np.abs(values)) / LN_GAMMA).astype(int) + OFFSET
    found, counts = np.unique(keys, return_counts=True)
    return {int(key): int(n) for key, n in zip(found, counts, strict=True)}


def a_histogram(size):
    return {DICE.randrange(-1200, 1400): DICE.randrange(1, 50) for _ in range(size)}


HISTS = [a_histogram(size) for size in (1, 2, 3, 10, 60) for _ in range(20)]
HISTS += [{}, None, {0: 4}, {-5: 1, 0: 2}]


def column_of(hists):
    return pa.array([None if hist is None else list(hist.items()) for hist in hists], HIST)


def by_sql(db, hists, q, *, blocks=1, limits=(None, None)):
    """Return (quantile, low end, high end) of each histogram by the macros; NaN without values."""
    n = len(hists)
    columns = {"id": range(n), "hist": column_of(hists), "blocks": np.broadcast_to(blocks, n)}
    columns |= {
        name: pa.array([ms] * n, pa.float64()) for name, ms in zip(("low", "high"), limits, strict=True)
    }
    db.register("made", pa.table(columns))
    ranks = {side: f"{side}_rank({q}, blocks, total)" for side in ("low", "high")}
    ranks["middle"] = f"rank_of({q}, total)"
    sums = {name: f"any_value({name})" for name in ("blocks", "low", "high")}
    query = f"""
        SELECT within_ms(bucket_ms(ms_middle), low, high), edge_ms(ms_low, -1), edge_ms(ms_high, 1)
        FROM ({added_up("made", "id", {"ms": "hist"}, ranks, sums)}) ORDER BY id"""  # noqa: S608 (constants)
    return np.array(db.sql(query).fetchall(), float)


def by_numpy(hists, q, *, blocks=1, limits=(np.nan, np.nan)):
    """Return the same by `Histograms`."""
    read, n = Histograms(pa.chunked_array([column_of(hists)])), len(hists)
    value = read.quantile(q, *(np.full(n, ms) for ms in limits))
    return np.column_stack([value, *read.interval(q, np.broadcast_to(blocks, n))])


def by_hand(hist, q, blocks):
    """Return the same of one histogram, in plain Python."""
    if not hist:
        return np.nan, np.nan, np.nan
    keys = sorted(hist)
    total, reach = sum(hist.values()), Z_95 * math.sqrt(q * (1 - q)) / math.sqrt(blocks)

    def at_rank(rank):
        wanted = max(1, min(rank, total))
        return next(
            k for k, seen in zip(keys, accumulate(hist[k] for k in keys), strict=True) if seen >= wanted
        )

    def edge(key, outward):
        if key == 0:
            return outward * SMALLEST_MS
        sign = math.copysign(1, key)
        return sign * GAMMA ** (abs(key) - OFFSET - (sign != outward))

    key = at_rank(math.ceil(q * total - RANK_SLACK))
    middle = math.copysign(1, key) * GAMMA ** (abs(key) - OFFSET) * 2 / (GAMMA + 1) if key else 0.0
    return (
        middle,
        edge(at_rank(math.ceil((q - reach) * total - RANK_SLACK)), -1),
        edge(at_rank(math.floor((q + reach) * total + RANK_SLACK) + 1), 1),
    )


@few
@given(st.lists(milliseconds, min_size=1, max_size=30))
def test_bucket_represents_its_values_within_one_percent_and_sorts_like_them(db, values):
    db.register("given", pa.table({"ms": values}))

    query = f"SELECT ms, {sql.bucket('ms')} AS k, bucket_ms(k) FROM given ORDER BY ms"  # noqa: S608 (a constant)
    rows = db.sql(query).fetchall()

    assert all(abs(value - ms) <= RELATIVE_ERROR * abs(ms) + 1e-12 for ms, _, value in rows)
    assert [key for _, key, _ in rows] == sorted(key for _, key, _ in rows)


def test_bucket_is_the_one_of_the_rule(db):
    values = [n / 1_000 for n in range(-3_000, 30_000, 7)] + [DICE.lognormvariate(0, 4) for _ in range(3_000)]
    db.register("given", pa.table({"ms": pa.array([*values, None, 1e-7, 0.0])}))

    of_sql = [key for (key,) in db.sql(f"SELECT {sql.bucket('ms')} FROM given").fetchall()]  # noqa: S608

    of_rule = [
        0 if ms == 0 else int(math.copysign(1, ms)) * (math.ceil(math.log(abs(ms)) / LN_GAMMA) + OFFSET)
        for ms in values
    ]
    assert of_sql == [*of_rule, None, 0, 0]


@few
@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=60), st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]))
def test_quantile_is_the_nearest_rank_within_one_percent(db, values, q):
    exact = sorted(values)[max(1, math.ceil(q * len(values) - 1e-9)) - 1]
    hists = [histogram_of(np.array(values))]

    assert by_sql(db, hists, q)[0][0] == pytest.approx(exact, rel=0.0101)
    assert by_numpy(hists, q)[0][0] == pytest.approx(exact, rel=0.0101)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.99])
def test_quantiles_and_their_intervals_are_the_same_in_sql_numpy_and_by_hand(db, q):
    blocks = np.array([DICE.randrange(1, 50) for _ in HISTS])
    by_rule = [by_hand(hist, q, int(n)) for hist, n in zip(HISTS, blocks, strict=True)]

    for found in (by_sql(db, HISTS, q, blocks=blocks), by_numpy(HISTS, q, blocks=blocks)):
        np.testing.assert_allclose(found, by_rule, rtol=1e-12)


def test_values_of_a_histogram_are_counted():
    hists = column_of([{}, None, {0: 4}, {-5: 1, 0: 2}])

    assert list(Histograms(pa.chunked_array([hists])).n) == [0, 0, 4, 3]


def test_nan_and_infinities_never_enter(db):
    db.register("given", pa.table({"ms": pa.array([math.nan, math.inf, -math.inf, None])}))

    keys = db.sql(f"SELECT {sql.bucket(sql.finite('ms'))} FROM given").fetchall()  # noqa: S608 (a constant)
    assert keys == [(None,)] * 4


@pytest.mark.parametrize(
    ("limits", "wanted"), [((1.97, 1.98), 1.98), ((1.999, 2.0), 1.999), ((1.9, 1.95), 1.95)]
)
def test_quantile_stays_within_the_exact_extremes(db, limits, wanted):
    """A bucket's value may be beyond every value that fell into it."""
    hists = [{726: 3}]

    assert by_sql(db, hists, 0.5, limits=limits)[0][0] == wanted
    assert by_numpy(hists, 0.5, limits=limits)[0][0] == wanted


def test_merging_equals_having_counted_together(db):
    values = np.random.default_rng(1).lognormal(1, 2, 500)
    hists = [*(histogram_of(part) for part in np.split(values, 5)), None, {}]
    made = {"g": [*"aaaaaab"], "hist": column_of(hists), "other": column_of([{1: 2}, *[None] * 6])}
    db.register("made", pa.table(made))
    together = histogram_of(values)
    seen = dict(zip(sorted(together), accumulate(together[k] for k in sorted(together)), strict=True))
    ranks = {f"rank_{rank}": str(rank) for rank in range(1, 501)}

    query = added_up("made", "g", {"ms": "hist", "other": "other"}, ranks, {"n": "count(*)"})
    a, b = db.sql(f"FROM ({query}) ORDER BY g").to_arrow_table().to_pylist()

    wanted = {f"ms_rank_{rank}": min(k for k in seen if seen[k] >= rank) for rank in range(1, 501)}
    assert {name: a[name] for name in wanted} == wanted
    assert (a["g"], a["n"], a["ms_total"], a["other_total"]) == ("a", 6, 500, 2)
    assert (a["other_rank_2"], a["other_rank_3"]) == (1, None)
    assert (b["g"], b["n"], b["ms_total"], b["ms_rank_1"]) == ("b", 1, None, None)


def test_written_map_is_the_same_whatever_order_rows_come_in(db):
    values, maps = [5.0, -3.0, 700.0, 0.0, 5.0], []
    for order in (values, values[::-1]):
        db.register("given", pa.table({"ms": order}))
        query = f"SELECT histogram({sql.bucket('ms')})::MAP(INT, BIGINT) AS hist FROM given"  # noqa: S608
        maps.append(db.sql(query).to_arrow_table()["hist"].to_pylist()[0])

    assert maps[0] == maps[1] == sorted(maps[0])
    assert [n for _, n in maps[0]] == [1, 1, 2, 1]


@pytest.mark.parametrize("q", [0.1, 0.5])
def test_interval_covers_the_true_quantile_of_correlated_data_in_95_of_100_tries(db, q):
    """
    Ten seconds of 500 round trips, AR(1) with a memory of 100 ms: fetches are not independent, blocks nearly.

    Counting all 500 as independent would cover far less, which the second figure shows.
    """
    tries, n, blocks, memory = 300, 500, 50, math.exp(-1 / 5)  # 20 ms apart, correlated over 100 ms
    rng = np.random.default_rng(736)
    noise = rng.normal(0, math.sqrt(1 - memory**2), (tries, n))
    x = np.zeros((tries, n))
    x[:, 0] = rng.normal(0, 1, tries)
    for step in range(1, n):
        x[:, step] = memory * x[:, step - 1] + noise[:, step]
    truth = math.exp(0.3 * {0.1: -1.2815515, 0.5: 0.0}[q])
    hists = [histogram_of(np.exp(0.3 * one)) for one in x]

    for read in (lambda *of, **more: by_sql(db, *of, **more), by_numpy):
        covered = {
            count: np.mean([low <= truth <= high for _, low, high in read(hists, q, blocks=count)])
            for count in (blocks, n)
        }
        assert covered[blocks] >= 0.93
        assert covered[n] < 0.9
