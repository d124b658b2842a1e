"""The `plumbline` command: a thin front of the jobs, the collectors and the lab."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from conf.settings import PROJECT

ALERTS = "Alert rules: when they would have fired in the past."


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command by name; its module is imported when it is called."""

    module: str
    name: str  # a function, or a Typer app with commands
    cls: str = ""  # name of its class in the module
    settings: Mapping[str, Any] = field(default_factory=dict)
    help: str = ""

    def summary(self) -> str:
        """Return its help, or the first paragraph of its docstring, without importing the module."""
        if self.help:
            return self.help
        tree = ast.parse((PROJECT / f"{self.module.replace('.', '/')}.py").read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        text = ast.get_docstring(functions.get(self.name, tree)) or ""
        return text.split("\n\n")[0]

    def loaded(self, name: str) -> Any:  # noqa: ANN401 (Typer's own copy of click)
        """Import the command."""
        module = import_module(self.module)
        command, group = getattr(module, self.name), _app(add_completion=False)
        group.callback()(_all)
        if isinstance(command, typer.Typer):
            group.add_typer(command, name=name)
        else:
            cls = getattr(module, self.cls) if self.cls else None
            group.command(name, cls=cls, context_settings=dict(self.settings))(command)
        return typer.main.get_group(group).commands[name]


COMMANDS = {
    "demo": LazyCommand("plumbline.demo", "demo"),
    "report": LazyCommand("jobs.report", "report"),
    "ask": LazyCommand("serving.ask.cli", "ask"),
    "mcp": LazyCommand("serving.ask.mcp_server", "serve_mcp"),
    "dashboard": LazyCommand("serving.dashboard.cli", "dashboard"),
    "compare": LazyCommand("jobs.compare", "compare", cls="Compare"),
    "collect": LazyCommand("collectors.cli", "collect"),
    "backfill": LazyCommand("collectors.backfill.cli", "backfill"),
    "sample": LazyCommand("collectors.sampling.cli", "sample"),
    "perf-test": LazyCommand("collectors.perf_test.cli", "perf_test", settings={"allow_extra_args": True}),
    "experiment": LazyCommand("lab.experiments.cli", "experiment"),
    "ingest": LazyCommand("jobs.ingest", "ingest"),
    "build-gold": LazyCommand("jobs.build_gold", "build_gold"),
    "check-quality": LazyCommand("jobs.check_quality", "check_quality"),
    "replay": LazyCommand("jobs.replay", "replay"),
    "maintain": LazyCommand("jobs.maintain", "maintain"),
    "migrate": LazyCommand("jobs.migrate", "migrate"),
    "export": LazyCommand("serving.exporter.cli", "export"),
    "alerts": LazyCommand("serving.exporter.backtest_cli", "app", help=ALERTS),
    "lab": LazyCommand("lab.cli", "app"),
}


class LazyGroup(TyperGroup):
    """A group of `COMMANDS`. Its help has their summaries; only the command that is called is imported."""

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 (options of Typer)
        """Make the group; the names are those that Typer suggests for a misspelt one."""
        super().__init__(**more)
        commands: dict[str, Any] = dict.fromkeys(COMMANDS)
        self.commands = commands

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 (Typer's own copy of click)
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Return a command without its options."""
        return _stub(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """Import the command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, COMMANDS[name].loaded(name) if name else command, rest


@cache
def _stub(name: str) -> Any:  # noqa: ANN401
    app = _app(add_completion=False)
    app.command(name, help=COMMANDS[name].summary())(lambda: None)
    return typer.main.get_command(app)


def _app(**more: Any) -> typer.Typer:  # noqa: ANN401 (options of Typer)
    return typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, **more)


app = _app(
    cls=LazyGroup,
    no_args_is_help=True,
    help="Which broker, which link, which client is slow, and since when: from Kafka's own logs.",
    epilog="First time here? `plumbline report --example` reports a recording of real brokers in seconds; "
    "`plumbline demo` starts real brokers and finds a delay it injected. "
    "For logs that you have: `plumbline report --from DIR`.",
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001 (Typer calls it with the option's value)
    if is_asked:
        from conf.version import versions  # noqa: PLC0415 (no other command needs them)

        typer.echo(", ".join(f"{name} {version}" for name, version in versions().items()))
        raise typer.Exit


@app.callback()
def _all(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions of Plumbline, Spark and Delta.",
        ),
    ] = False,
) -> None:
    """Do nothing: with a callback, Typer makes a group."""
