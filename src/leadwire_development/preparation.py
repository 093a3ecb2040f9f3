"""What `up` prepares before it starts anything: tables, the demo's data, a working key, the demo's endpoint.

It runs in a process of its own (`leadwire prepare`) that ends: the supervisor would keep the memory.
"""

import asyncio
import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from leadwire.delivery.envelope import KINDS
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys, reads
from leadwire.domain.accounts.changes import team
from leadwire.domain.bots.reads import names
from leadwire.domain.leads import reads as leads
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.serving import connections
from leadwire.infrastructure.settings import Settings
from leadwire_development import mailbox
from leadwire_development.demo.seed import past_attempts, seed
from leadwire_development.embedded.directories import write_private
from leadwire_development.stack import Prepared

_KEPT: Final = "demo.json"


class _Kept(msgspec.Struct):
    """What the next run uses again."""

    api_key: str = ""
    endpoint_id: str = ""
    secret: str = ""


async def prepare(settings: Settings, receiver: int | None) -> Prepared:
    """Make what is missing. The demo's endpoint sends to the port `receiver`; None: no demo."""
    kept = _read(settings.data_dir)
    # As `engine`: plans are kept, which takes a third off the time that the demo's thousands of changes need.
    async with connections(settings.database_url, settings.redis_url, 4, role="engine"):
        with db.acting_as("maintenance"):
            await migrate()
        workspace = await _some_workspace() if receiver is None else await seed()
        join = "" if await reads.users(workspace) else await team.invite(workspace, None, "admin", operator=True)
        bot = "" if receiver is None else next(iter(await names(workspace)), "")
        kept.api_key = await _working_key(workspace, kept.api_key)
        if receiver is not None:
            await _point_endpoint(workspace, kept, f"http://127.0.0.1:{receiver}/webhooks")
        newest = (await leads.search(workspace, leads.LeadSearch(), 1)).items
        write_private(settings.data_dir / _KEPT, msgspec.json.format(msgspec.json.encode(kept)).decode() + "\n")
        await asyncio.sleep(0.02)  # the last wake-up is sent before Redis is closed
    lead = newest[0].id if newest else "LEAD_ID"
    return Prepared(workspace, kept.api_key, join, bot, lead, kept.secret, mailbox.path())


async def _some_workspace() -> str:
    """Return the first one, or a new one that is empty."""
    workspaces = await reads.workspace_list()
    return workspaces[0].id if workspaces else await accounts.create_workspace("Default")


async def _working_key(workspace: str, key: str) -> str:
    known = await reads.caller(key, asyncio.get_running_loop().time()) if key else None
    if known and known.scopes >= set(keys.SCOPES):  # a later version may have more of them
        return key
    _, key = await accounts.create_key(workspace, "leadwire up", keys.SCOPES)
    return key


async def _point_endpoint(workspace: str, kept: _Kept, url: str) -> None:
    """Let the demo's endpoint, which is made if need be, send to `url`."""
    with contextlib.suppress(NotFound):
        if kept.endpoint_id:
            await webhooks.configure(workspace, kept.endpoint_id, EndpointChange(url=url))
            return
    with clock.at(clock.now() - timedelta(days=59)):
        endpoint = await webhooks.create(workspace, url, KINDS)
    await webhooks.enable(workspace, endpoint.id)
    await past_attempts(workspace, endpoint.id)
    kept.endpoint_id, kept.secret = endpoint.id, endpoint.secret


def _read(directory: Path) -> _Kept:
    """Return what the last run has kept, or nothing."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((directory / _KEPT).read_bytes(), type=_Kept)
    return _Kept()
