"""Rows of throttles and moves as gold would hold them, by hand."""

from datetime import timedelta
from types import SimpleNamespace

from schemas.gold.reassignment_progress import REASSIGNMENT_FORECAST, REASSIGNMENT_SUMMARY
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE, THROTTLE_COMPLIANCE_SUMMARY
from schemas.rows import Row
from tests.serving.report.client_rows import row
from tests.serving.report.gold_rows import at

MB = 1_000_000


def throttle(state: str, cause: str | None = None, **more: object) -> Row:
    known = {"broker_id": 1, "direction": "leader", "limit_bytes_per_s": 5 * MB, "limited_from": at(0)}
    known |= {"since": at(0), "until": at(6), "state": state, "cause": cause, "why": "because"}
    known |= {"rate_bytes_per_s": 5.0 * MB, "bean_bytes_per_s": 4.9 * MB, "bean_max_bytes_per_s": 5.1 * MB}
    return row(THROTTLE_COMPLIANCE_SUMMARY, **known | {"n": 4} | more)


def move(**more: object) -> Row:
    known = {"moved_at": at(0), "moved_by": "tool User:me", "state": "done", "ended_at": at(12)}
    known |= {"partitions": 8, "partitions_done": 8, "bytes_moved": 600 * MB, "bytes_to_go": 0.0}
    known |= {"rate_bytes_per_s": 5.0 * MB, "forecast_error": -0.03, "kip_error": 0.05}
    return row(REASSIGNMENT_SUMMARY, **known | more)


def under_way(**more: object) -> Row:
    ends = {"forecast_end_at": at(12), "forecast_low_at": at(11), "forecast_high_at": None}
    known = {"state": "under_way", "ended_at": None, "partitions_done": 2, "bytes_to_go": 300.0 * MB}
    return move(**known | ends | {"forecast_error": None, "kip_error": None} | more)


def throttles(**changes: object) -> SimpleNamespace:
    ramped = throttle("compliant", bean_bytes_per_s=3.0 * MB)
    burst = throttle("over_limit", "tiny_quota", broker_id=2, bean_max_bytes_per_s=25.0 * MB)
    return SimpleNamespace(
        **{
            "throttle_compliance": [
                ramped,
                throttle("none", "no_traffic", broker_id=3, rate_bytes_per_s=None),
                burst,
                throttle("left_over", "move_done", direction="follower"),
            ],
            "throttle_compliance_windows": [row(THROTTLE_COMPLIANCE, window_start=at(0), broker_id=1)],
            "reassignment_progress": [
                move(),
                under_way(moved_at=at(20)),
                under_way(moved_at=at(30), forecast_end_at=None, is_in_band=False),
                move(moved_at=at(0) + timedelta(hours=1), state="superseded"),
            ],
            "reassignment_progress_windows": [row(REASSIGNMENT_FORECAST, window_start=at(0))],
            **changes,
        }
    )
