"""The figure of fetches over time."""

from answers.fetches.figures import ENTRY_PX, PLOT_PX, latency_over_time
from tests.answers.made_gold import at


def drawn(followers):
    metrics = {"total_p50_ms": 500.0, "true_p50_ms": 2.0, "leader_local_p50_ms": 1.0}
    of = {"kind": "follower", "leader_id": 0, "window_start": at(0)} | metrics
    return latency_over_time([of | {"follower_id": nth} for nth in range(1, followers + 1)], 0, None)


def test_figure_grows_with_its_legend_and_the_plot_does_not_shrink():
    """The legend has an entry for each follower, and two that stand for the lines of all."""
    for followers in (2, 29):
        figure = drawn(followers)

        assert sum(trace.showlegend is not False for trace in figure.data) == followers + 2
        assert figure.layout.height == PLOT_PX + ENTRY_PX * (followers + 2)
