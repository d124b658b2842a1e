"""
Write the report: one offline HTML page and the same results as JSON, from raw files or the gold tables.

`plumbline report --from DIR`, or from the project's folder with its venv activated:
`PYTHONPATH=. python jobs/report.py --from DIR`; `spark-submit` takes the same, but Spark is not used.
"""

from pathlib import Path
from typing import Annotated

import typer

from conf.exit_codes import ExitCode, WrongUseError
from conf.instants import SINCE_HELP, time_range
from conf.progress import Progress
from conf.signals import interrupt_on_signals


def report(  # noqa: PLR0913 (one option of the command each)
    *,
    example: Annotated[
        bool, typer.Option("--example", help="Report a recording of real brokers that ships with Plumbline.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--from", help="Folder of log files as brokers write them.")
    ] = None,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the warehouse; the last file wins.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write.")] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=ID: files that match the glob belong to that broker; repeatable."),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Zone of log layouts that write local time.")] = "UTC",
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster; needed if there are several.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"First instant. {SINCE_HELP}")] = None,
    until: Annotated[str | None, typer.Option(help="End, exclusive. The same form.")] = None,
    network: Annotated[
        float | None,
        typer.Option(help="Network bandwidth of a broker in bytes/s, for the throttle range of KIP-73."),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Ground truth of a lab scenario, to check the verdicts.")
    ] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Also print all tables.")] = False,
) -> None:
    """
    Show who is slow: from raw log files, or from the gold tables of a warehouse.

    New here? `--example` needs no logs, no Kafka and no Java. --html and --json name the files to write;
    without both, they are report.html and report.json.

    Exit code 2: there is nothing to read (also: gold has no rows), or a file cannot be written. A line that
    cannot be read is not an error; the report counts it under data quality.

    Example: `plumbline report --example`

    Example: `plumbline report --from logs --html report.html --json report.json`

    Example: `plumbline report --from logs --node 'east/*=1' --time-zone Europe/Berlin`

    Example: `plumbline report --conf my.toml --since 2026-11-21T11:00Z --until 2026-11-21T12:00Z`
    """
    interrupt_on_signals()
    # Imported here, so that `--help` does not wait for these modules.
    from serving.report.run.example import run_example  # noqa: PLC0415
    from serving.report.run.making import run  # noqa: PLC0415
    from serving.report.run.options import Wanted, nodes_of, truth_of, zone_of  # noqa: PLC0415
    from serving.report.run.output import HTML, JSON  # noqa: PLC0415

    progress = Progress()
    try:
        wanted = Wanted(
            folder=folder,
            conf=conf or [],
            html=html if html or json else HTML,
            json=json if html or json else JSON,
            nodes=nodes_of(node or []),
            time_zone=zone_of(time_zone),
            cluster=cluster,
            span=time_range(since, until),
            truth=truth_of(truth),
            network_bytes_per_s=network,
            has_tables=tables,
        )
        (run_example if example else run)(wanted, progress)
    except WrongUseError as error:
        progress.say(f"error: {error}")
        raise typer.Exit(ExitCode.WRONG) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from error


if __name__ == "__main__":
    typer.run(report)
