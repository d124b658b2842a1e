"""How `fetch_latency` and `broker_rtt` are built; both read the same paired fetches."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from transforms.gold.broker_rtt.table import LOOKBACK_S, broker_rtt
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.table import fetch_latency
from transforms.spans import within
from transforms.windows import COVERAGE_REACH, Reach

FOLLOWERS_REACH = Reach(lookback_s=LOOKBACK_S, lookahead_s=pairing.REQUESTS_REACH.lookahead_s)
"""The reach for follower fetches; for other fetches `pairing.REQUESTS_REACH` is enough."""

REQUESTS_REACH = Reach(
    lookback_s=max(COVERAGE_REACH.lookback_s, FOLLOWERS_REACH.lookback_s),
    lookahead_s=FOLLOWERS_REACH.lookahead_s,
)


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    fetches, covered = pairing.paired(inputs, _requests(inputs)), inputs.covered()
    return {FETCH_LATENCY: fetch_latency(fetches, covered), BROKER_RTT: broker_rtt(fetches, covered)}


def _requests(inputs: Inputs) -> DataFrame:
    """Return the requests for pairs and round trips; only followers' fetches need the fetch before."""
    requests = inputs.near(REQUESTS, FOLLOWERS_REACH)
    if inputs.spans is None:
        return requests
    near = within("logged_at", inputs.spans, pairing.REQUESTS_REACH)
    return requests.filter((F.col("kind") == "follower") | F.expr(near))


BUILD = Build(
    name="fetches",
    tables=(FETCH_LATENCY, BROKER_RTT),
    frames=_frames,
    reads={REQUESTS: REQUESTS_REACH, CLIENT_EVENTS: pairing.CLIENT_EVENTS_REACH},
    touched_by=(
        Touch(of=REQUESTS, reach=REQUESTS_REACH),
        Touch(of=CLIENT_EVENTS, reach=pairing.CLIENT_EVENTS_REACH),
    ),
    is_covered=True,
)
