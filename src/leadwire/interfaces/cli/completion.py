"""`leadwire completion`: the words of the command line, for a shell."""

import click
from click.shell_completion import get_completion_class

from leadwire.interfaces.cli.runtime import Result, alone, command


@command(run=alone)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> Result:
    """Print a script that completes commands and options in a shell."""
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - one of the three that click has
    script = made(click.get_current_context().find_root().command, {}, "leadwire", "_LEADWIRE_COMPLETE").source()
    return Result({"shell": shell, "script": script}, script)
