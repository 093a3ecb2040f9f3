"""The command `leadwire`: which commands there are, and how an error is shown."""

import functools
import importlib
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import click

from leadwire import __version__
from leadwire.infrastructure.errors import DomainError, OperatorError
from leadwire.interfaces.cli.runtime import explain

_EXAMPLES: Final = Path(__file__).parent / "interfaces/cli/examples.toml"
# The module of each, where its function has its name. Imported only when called, so that `--help` is quick.
COMMANDS: Final = {
    "serve": "leadwire.processes.commands",
    "relay": "leadwire.processes.commands",
    "deliver": "leadwire.processes.commands",
    "background": "leadwire.processes.commands",
    "migrate": "leadwire.interfaces.cli.maintenance",
    "endpoints": "leadwire.interfaces.cli.endpoints",
    "keys": "leadwire.interfaces.cli.keys",
    "mail": "leadwire.interfaces.cli.mail",
    "users": "leadwire.interfaces.cli.users",
    "workspaces": "leadwire.interfaces.cli.workspaces",
    "status": "leadwire.interfaces.cli.maintenance",
    "doctor": "leadwire.interfaces.cli.maintenance",
    "dead-letters": "leadwire.interfaces.cli.dead_letters",
    "redrives": "leadwire.interfaces.cli.redrives",
    "jobs": "leadwire.interfaces.cli.jobs",
    "set-aside": "leadwire.interfaces.cli.maintenance",
    "reseal": "leadwire.interfaces.cli.maintenance",
    "audit": "leadwire.interfaces.cli.audit",
    "ledger": "leadwire.interfaces.cli.maintenance",
}
_MORE: Final = "leadwire.commands"
"""The entry points at which another distribution adds commands, as `leadwire-development` does."""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS, *(command.name for command in entry_points(group=_MORE))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if module := COMMANDS.get(cmd_name):
            command: click.Command = getattr(importlib.import_module(module), cmd_name.replace("-", "_"))
            _add_examples(command, cmd_name)
            return command
        more: list[click.Command] = [command.load() for command in entry_points(group=_MORE, name=cmd_name)]
        if not more and cmd_name in ("up", "listen"):
            ctx.fail(f"`{cmd_name}` is for development: `pip install 'leadwire[embedded]'` adds it.")
        return next(iter(more), None)


def _add_examples(command: click.Command, path: str) -> None:
    """Let `--help` end with examples, also that of the commands of a group."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            _add_examples(one, f"{path} {name}")
    elif lines := _examples().get(path):
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


@functools.cache
def _examples() -> dict[str, list[str]]:
    return tomllib.loads(_EXAMPLES.read_text())


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
def cli() -> None:
    """Chatbot leads and conversations over a /v1 API, and signed webhooks that are never lost.

    Try `leadwire up`. Settings are LEADWIRE_* environment variables; `leadwire doctor` checks them.
    """


def main(*args: str) -> None:
    """Run a command line. An error that an operator can fix is one line on stderr, not a traceback."""
    try:
        result: Any = cli.main(list(args) or None, prog_name="leadwire", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(_message(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:
        cause = _cause(error)
        if isinstance(cause, BrokenPipeError):
            sys.exit(0)  # the reader of our output has closed it
        line = str(cause) if isinstance(cause, OperatorError | DomainError) else explain(cause)
        if line is None:
            raise
        _fail(line)
    sys.exit(result if isinstance(result, int) else 0)


def _cause(error: Exception) -> Exception:
    """Return the error that a group holds alone, as task groups raise them."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _message(error: click.ClickException) -> str:
    """Return what is wrong with the command line, and where its help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    told = error.format_message()
    return f"{told.removesuffix('.')}. See `{context.command_path} --help`." if context else told


def _fail(line: str, code: int = 1) -> None:
    click.echo(f"leadwire: {' '.join(line.split())}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
