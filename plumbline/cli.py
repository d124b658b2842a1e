"""The `plumbline` command: a thin front of the jobs, the collectors and the lab."""

import typer

from collectors.backfill.cli import backfill
from collectors.cli import collect
from collectors.perf_test.cli import perf_test
from collectors.sampling.cli import sample
from jobs.build_gold import build_gold
from jobs.check_quality import check_quality
from jobs.compare import compare
from jobs.ingest import ingest
from jobs.maintain import maintain
from jobs.replay import replay
from jobs.report import report
from lab.cli import app as lab
from lab.experiments.cli import experiment
from plumbline.demo import demo
from serving.dashboard.cli import dashboard
from serving.exporter.backtest_cli import app as alerts
from serving.exporter.cli import export
from serving.report.compare.options import Compare

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Which broker, which link, which client is slow, and since when: from Kafka's own logs.",
    epilog="First time here? `plumbline demo` starts real brokers and finds a delay it injected. "
    "For logs that you have: `plumbline report --from DIR`.",
)
app.command()(demo)
app.command()(report)
app.command()(dashboard)
app.command(cls=Compare)(compare)
app.command()(collect)
app.command()(backfill)
app.command()(sample)
app.command("perf-test", context_settings={"allow_extra_args": True})(perf_test)
app.command()(experiment)
app.command()(ingest)
app.command("build-gold")(build_gold)
app.command("check-quality")(check_quality)
app.command()(replay)
app.command()(maintain)
app.command()(export)
app.add_typer(alerts, name="alerts")
app.add_typer(lab, name="lab")
