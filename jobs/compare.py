"""
Compare two arms of a performance test: a verdict and its reason for each metric.

`plumbline compare BASELINE CONTENDER --from DIR`, or from the project's folder with its venv activated:
`PYTHONPATH=. python jobs/compare.py A B --from DIR`; `spark-submit` takes the same, but Spark is not used.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from conf.exit_codes import ExitCode, WrongUseError
from conf.instants import SINCE_HELP, time_range
from conf.progress import Progress
from conf.signals import interrupt_on_signals


class Compare(TyperCommand):
    """A command whose wrong options do not end with 2, which is the verdict "inconclusive"."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (typer hides its context)
        """Read the options; wrong ones end with `NO_VERDICT`."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            error.exit_code = ExitCode.NO_VERDICT
            raise


def compare(  # noqa: PLR0913 (one option of the command each)
    *,
    baseline: Annotated[str, typer.Argument(help="Arm to compare with.")],
    contender: Annotated[str, typer.Argument(help="Arm to judge.")],
    folder: Annotated[Path | None, typer.Option("--from", help="Folder of raw files with the runs.")] = None,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the warehouse; the last file wins.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Metric to judge; the first one decides. Default: all; the worst verdict decides."),
    ] = None,
    tolerance: Annotated[str, typer.Option(help="Largest change that counts as no difference.")] = "5%",
    scenario: Annotated[str | None, typer.Option(help="Only runs of this experiment.")] = None,
    since: Annotated[
        str | None, typer.Option(help=f"Only runs that began at this instant or later. {SINCE_HELP}")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only runs that began before. The same form.")] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Do not pair the runs of the same name in both arms.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown to write, for a pull request.")] = None,
    save: Annotated[
        bool,
        typer.Option(
            "--save", help="Also save the comparison in gold.run_comparison of the warehouse, once."
        ),
    ] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster; needed if there are several.")
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=ID: files that match the glob belong to that broker; repeatable."),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Zone of log layouts that write local time.")] = "UTC",
) -> None:
    """
    Compare two arms of a performance test: improved, regressed, equivalent or inconclusive.

    The unit is the run; runs of the same name in both arms are a pair. docs/comparison.md explains the method
    and its limits.

    Exit codes: 0 improved or equivalent; 1 regressed; 2 inconclusive, also with one run per arm; 3 invalid:
    the runs cannot be compared; 7 wrong use, nothing was compared; 130 stopped.

    Example: `plumbline compare sticky adaptive --from .state/experiments/adaptive --metric p99_ms`

    Example: `plumbline compare main pr-17 --conf my.toml --since 7d --tolerance 3% --markdown verdict.md`
    """
    interrupt_on_signals()
    # Imported here, so that `--help` does not wait for these modules.
    from serving.report.compare.making import run  # noqa: PLC0415
    from serving.report.compare.options import RunSource, Targets, asked_of  # noqa: PLC0415
    from serving.report.run.options import nodes_of, zone_of  # noqa: PLC0415
    from verdicts.overall import exit_code  # noqa: PLC0415

    progress = Progress()
    try:
        request = asked_of(baseline, contender, metric or [], tolerance, is_unpaired=unpaired)
        request = replace(request, **time_range(since, until)._asdict())
        source = RunSource(
            folder=folder,
            conf=conf or [],
            nodes=nodes_of(node or []),
            time_zone=zone_of(time_zone),
            cluster=cluster,
            scenario=scenario,
            is_saved=save,
        )
        comparison = run(request, source, Targets(html=html, json=json, markdown=markdown), progress)
    except WrongUseError as error:
        progress.say(f"error: {error}")
        raise typer.Exit(ExitCode.NO_VERDICT) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    raise typer.Exit(exit_code(comparison.deciding))


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command(cls=Compare)(compare)
    app()
