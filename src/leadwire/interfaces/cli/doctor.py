"""`leadwire doctor`: what is wrong here, and how to mend it."""

import asyncio
import os
from typing import Final

import click

from leadwire.interfaces.cli.failures import known
from leadwire.interfaces.cli.runtime import json_option, servers, show

_LOOK: Final = {"ok": ("ok     ", "green"), "warning": ("warning", "yellow"), "error": ("ERROR  ", "red")}


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Examine settings, servers, tables and clocks; each fault with its fix. Exit 1 when anything must be mended."""
    with servers() as chosen:
        from leadwire.interfaces.cli.checks import examine

        findings = asyncio.run(examine(chosen, os.environ, known))
    errors, warnings = (sum(one.level == level for one in findings) for level in ("error", "warning"))
    if as_json:
        show({"sound": errors == 0, "errors": errors, "warnings": warnings, "findings": findings})
        return 1 if errors else 0
    for one in findings:
        word, color = _LOOK[one.level]
        click.echo(f"{click.style(word, color)}  {one.about}: {one.says}")
        if one.fix:
            click.echo(f"         fix: {one.fix}")
    click.echo(f"{errors} to mend, {warnings} to think about." if errors or warnings else "All is well.")
    return 1 if errors else 0
