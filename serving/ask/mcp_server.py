"""`plumbline mcp`: the answers of `plumbline ask` for AI assistants, over the Model Context Protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conf.exit_codes import ExitCode, WrongUseError
from conf.signals import interrupt_on_signals
from schemas.rows import Row

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from answers.answer import Question


ABOUT = (
    "Answer one question about a Kafka cluster from measurements. Returns the verdict (sentence, mood, "
    "evidence, next steps) and tables. since and until are instants (2026-11-21T11:00Z) or ages (1h)."
)


def serve_mcp(
    *,
    conf: Annotated[list[Path], typer.Option(help="Settings that name the warehouse; the last file wins.")],
) -> None:
    """
    Answer the questions of an AI assistant from the gold tables of a warehouse, on stdin and stdout.

    The assistant starts this command itself: docs/ask.md shows how to set it up. It only reads.

    Exit code 0: the assistant has ended. Exit code 2: the package `mcp` is not installed. Exit code 130:
    stopped by Ctrl-C.

    Example: `plumbline mcp --conf my.toml`
    """
    interrupt_on_signals()
    try:
        mcp_server(conf).run("stdio")
    except ImportError as error:
        typer.echo("error: `plumbline mcp` needs one more package: pip install 'plumbline[mcp]'", err=True)
        raise typer.Exit(ExitCode.WRONG) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def mcp_server(conf: list[Path]) -> "MCPServer":
    """
    Return a server with one tool, `ask`; its results are those of `plumbline ask --json`.

    Raises:
        ImportError: the package `mcp` is not installed.

    """
    from mcp.server import MCPServer  # noqa: PLC0415 (an optional package)
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
    from mcp.types import ToolAnnotations  # noqa: PLC0415

    from answers.questions import QUESTIONS  # noqa: PLC0415 (`--help` does not wait for it)
    from serving.ask.answering import answer_of  # noqa: PLC0415
    from serving.ask.request import question_and_selection  # noqa: PLC0415

    server = MCPServer("plumbline", title="Plumbline: which broker, link or client is slow, and since when?")

    def ask(  # noqa: PLR0913 (what may be asked, each by name)
        *,
        question: str,
        cluster: str | None = None,
        since: str | None = None,
        until: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        client: str | None = None,
        incident: str | None = None,
        pair: str | None = None,
    ) -> Row:
        try:
            chosen, selection = question_and_selection(
                conf,
                question,
                cluster=cluster,
                since=since,
                until=until,
                broker=broker,
                topic=topic,
                client=client,
                incident=incident,
                pair=pair,
            )
        except WrongUseError as error:
            raise ToolError(str(error)) from error
        return answer_of(chosen, selection)

    server.add_tool(
        ask,
        description=f"{ABOUT} Questions: {'; '.join(map(_described, QUESTIONS))}.",
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
    return server


def _described(question: "Question") -> str:
    filters = ", ".join(name for name in question.filters if name != "span")
    return f"{question.name}: {question.title}" + (f" (filters: {filters})" if filters else "")
