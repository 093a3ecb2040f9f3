"""What our command line makes of arguments, without doing it."""

import click

from leadwire.__main__ import cli


def parsed(*arguments: str) -> click.Context:
    """The context of the command that these arguments name; raises click.UsageError for what it does not accept."""
    context = cli.make_context("leadwire", list(arguments))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context
