"""`leadwire bots`."""

from pathlib import Path

import click
import msgspec

from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, alone, audited, command, listing, the_workspace, workspace_option

with lazily():
    from leadwire.domain.bots import changes, reads, schema
    from leadwire.domain.bots.flow import parse

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_ORIGIN = "A website that may show the bot, such as https://example.com; * allows all. Repeatable."


bots = click.Group("bots", help="Chatbots and their flows.")


@command(bots, run=alone)
@click.argument("file", type=_FILE)
def validate(file: Path) -> Result:
    """Check a flow in FILE (TOML or JSON). Needs no server. Exit 1 if it has errors."""
    try:
        flow = parse.parse(_text(file))
    except parse.BadFlow as bad:
        lines = [f"{file}:{flaw.line or 1}: {msgspec.structs.replace(flaw, line=None)}" for flaw in bad.flaws]
        return Result({"valid": False, "faults": bad.flaws}, "", 1, note="\n".join(lines))
    return Result({"valid": True, "nodes": len(flow.nodes)}, f"{file} is valid: {len(flow.nodes)} nodes.")


@command(bots)
@click.argument("file", type=_FILE)
@click.option("--bot", "bot_id", metavar="ID", help="The bot to publish to; by default a new one.")
@click.option("--name", help="The new bot's name; by default the file's name.")
@click.option("--origin", "origins", multiple=True, help=_ORIGIN)
@workspace_option
async def publish(
    file: Path, bot_id: str | None, name: str | None, origins: tuple[str, ...], workspace: str | None
) -> Result:
    """Publish the flow in FILE as a new version of a bot. New conversations run it."""
    from leadwire.domain.bots.changes import drafts

    source = _text(file)
    parse.parse(source)
    owner = await _owner(bot_id, workspace) if bot_id else await the_workspace(workspace)
    async with audited("bot.published", workspace=owner) as entry:
        entry.subject = bot_id = bot_id or await changes.create(owner, name or file.stem.replace("-", " ").capitalize())
        if origins:
            await changes.set_origins(owner, bot_id, origins)
        await drafts.keep(owner, bot_id, source)
        before = (await reads.detail(owner, bot_id)).published_version or "none"
        version = await changes.publish(owner, bot_id, source)
        entry.detail = f"version: {before} -> {version}"
    return Result({"id": bot_id, "version": version}, f"{bot_id} runs version {version}.")


@command(bots, "list")
@workspace_option
async def list_(workspace: str | None) -> Result:
    """List bots."""
    found = await reads.listed(workspace and await the_workspace(workspace))
    return listing(found, _line, "No bots yet. Create one: leadwire bots publish FILE")


def _line(bot: "schema.BotSummary") -> str:
    silent = "archived" if bot.archived_at else "paused" if bot.paused_version else "not published"
    state = f"version {bot.published_version}" if bot.published_version else silent
    return f"{bot.id}  {state}  {bot.name}"


async def _owner(bot_id: str, workspace: str | None = None) -> str:
    """Whose bot it is; of the chosen workspace, if one is chosen. Raises OperatorError."""
    for bot in await reads.listed(workspace):
        if bot.id == bot_id:
            return bot.workspace_id
    raise OperatorError(f"there is no bot {bot_id}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{file} cannot be read: {error}") from error
