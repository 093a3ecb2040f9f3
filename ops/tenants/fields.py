"""What goes with a request to a route, and what comes before it, so that its ids are looked for at all."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from leadwire.domain.bots.changes import visitor_sessions
from ops.tenants.things import Things

FIELDS: Final[dict[str, dict[str, str]]] = {
    "/bots/{bot_id}/rollback": {"version": "1"},
    "/bots/{bot_id}/state": {"to": "paused"},
    "/bots/{bot_id}/steps": {"kind": "say", "after": "email", "way": "next"},
    "/bots/{bot_id}/wire": {"step": "email", "way": "next", "to": "bye"},
    "/team/{user_id}/role": {"role": "agent"},
}
"""Fields of a form."""
BODIES: Final[dict[str, dict[str, Any]]] = {
    "PATCH /v1/leads/{lead_id}": {"name": "Mallory"},
    "POST /v1/exports": {"type": "leads", "format": "ndjson"},
}
"""Members of a JSON body."""


async def _block(ours: Things) -> None:
    await visitor_sessions.block(ours.workspace, await ours.id("conversation_id"), ours.user_id)


async def _with_lead(ours: Things) -> None:
    await ours.id("lead_id")


async def _with_factor(ours: Things) -> None:
    await Things(ours.workspace, await ours.id("user_id"), ours.mark).id("passkey_id")


BEFORE: Final[dict[str, Callable[[Things], Awaitable[None]]]] = {
    "/conversations/{conversation_id}/unblock": _block,
    "/inbox/{conversation_id}/lead": _with_lead,
    "/team/{user_id}/second-factor/remove": _with_factor,
}
"""What our own thing needs for the request to find it."""
WITHOUT_CONTROL: Final = {"/account/workspaces/{user_id}": "it ends the session that the other tries are made with"}
"""Where our own is not tried, and why."""
