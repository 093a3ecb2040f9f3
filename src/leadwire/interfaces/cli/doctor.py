"""`leadwire doctor`: problems of an installation, and how to fix them."""

import asyncio
import os
from typing import Final

import click

from leadwire.interfaces.cli.runtime import explain, json_option, print_json, servers

_LOOK: Final = {"ok": ("ok     ", "green"), "warning": ("warning", "yellow"), "error": ("ERROR  ", "red")}


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check settings, servers, tables and clocks; show each problem with its fix. Exit 1 if one is an error."""
    with servers() as chosen:
        from leadwire.interfaces.cli.checks import examine

        findings = asyncio.run(examine(chosen, os.environ, explain))
    errors, warnings = (sum(one.level == level for one in findings) for level in ("error", "warning"))
    if as_json:
        print_json({"sound": errors == 0, "errors": errors, "warnings": warnings, "findings": findings})
        return 1 if errors else 0
    for one in findings:
        word, color = _LOOK[one.level]
        click.echo(f"{click.style(word, color)}  {one.about}: {one.says}")
        if one.fix:
            click.echo(f"         fix: {one.fix}")
    click.echo(f"{errors} errors, {warnings} warnings." if errors or warnings else "No problems found.")
    return 1 if errors else 0
