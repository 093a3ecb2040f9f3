"""`leadwire audit`: the audit logs, verified and exported."""

from typing import IO

import click
import msgspec

from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command, patiently, the_workspace

with lazily():
    from leadwire.domain.accounts.audit import chain, heads, reads
    from leadwire.infrastructure import secret_box


audit = click.Group("audit", help="Audit logs: who did what.")


@command(audit, run=patiently)
@click.option(
    "--workspace", metavar="ID", help="Only the log of this workspace; by default all, and the installation's."
)
@click.option(
    "--head", "file", metavar="FILE", type=click.File(errors="replace"),
    help="Also compare with heads that were kept elsewhere, such as lines of the log; - reads standard input.",
)  # fmt: skip
async def verify(workspace: str | None, file: IO[str] | None) -> Result:
    """Check that no entry was changed, removed or put in. Show the first of each log that was. Exit 1 if one was."""
    chains = await reads.chains()
    if workspace and workspace not in chains:
        raise OperatorError(f"there is no workspace {workspace}")
    told, others = heads.read(file or (), secret_box.get())
    if file and not (told or others):
        raise OperatorError(f"there is no head in {file.name}")
    ended = await reads.ended({head.chain for head in told})
    kept = {head for head in told if head.at > ended.get(head.chain, "") and workspace in (None, head.chain)}
    chosen = [workspace] if workspace else chains
    results = [await reads.verify(name, {head for head in kept if head.chain == name}) for name in chosen]
    gone = sorted({head.chain for head in kept} - set(chains))
    lines = [_line(result) for result in results] + [
        f"{name}  BROKEN: a head of it was kept, and it is gone" for name in gone
    ]
    if others:
        lines.append(f"{others} heads are not signed with a key of LEADWIRE_SECRET_KEY")
    broken = bool(gone or others or any(result.fault for result in results))
    document = {"intact": not broken, "chains": results, "heads": len(kept), "unsigned_heads": others, "gone": gone}
    return Result(document, "\n".join(lines), 1 if broken else 0)


@audit.command()
@click.option("--after", default=0, metavar="NUMBER", type=click.IntRange(0, 2**63 - 1), help="Go on after this entry.")
@click.option("--since", metavar="TIME", help="Only entries from this ISO 8601 time on.")
@click.option("--installation", is_flag=True, help="The log of the installation instead of a workspace's.")
@click.option("--workspace", metavar="ID", help="The workspace. Not needed while there is only one.")
@patiently
async def export(after: int, since: str | None, installation: bool, workspace: str | None) -> None:
    """Print the chained entries, oldest first, a JSON document a line. Keep the last number to go on after it."""
    try:
        begin = clock.parse(since) if since else None
    except ValueError as error:
        raise OperatorError(f"--since: {error}") from error
    log = chain.INSTALLATION if installation else await the_workspace(workspace, create=False)
    async for entry in reads.entries(log, after, begin):
        click.echo(msgspec.json.encode(entry))


def _line(verified: "reads.Verified") -> str:
    state = f"{verified.entries} entries are as they were written, from {verified.first} to {verified.last}"
    if verified.fault:
        state = f"BROKEN: {verified.fault}"
    elif not verified.entries:
        state = "no entries"
    if verified.waiting:
        state += f"; {verified.waiting} not chained yet"
        state += ", for more than a minute: does `leadwire background` run?" if verified.overdue else ""
    return f"{verified.chain}  {state}"
