"""Every change of a visitor's session but its turns: its token, its blocking, and what they have consented to."""

from typing import Final

from leadwire.domain.accounts import keys
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound

_RETRIED_START: Final = 600  # seconds in which a start can be repeated

_RENEW_TOKEN, _BLOCK, _WITHDRAW = named(__file__, "renew_token block withdraw_consent")


async def renew_token(conversation_id: str, token: str) -> bool:
    """Replace the token of a session that has just begun. Return False when it is too late for that."""
    since = clock.ago(seconds=_RETRIED_START)
    return bool(await _RENEW_TOKEN.rows(conversation=conversation_id, token_hash=keys.digest(token), since=since))


@query()
async def record_nudge(conversation_id: str) -> None:
    """Record that the visitor was nudged."""


async def block(workspace: str, conversation_id: str, user_id: str) -> None:
    """Block the visitor's network and end the conversation. Raise NotFound."""
    async with db.transaction():
        await conversations.end(workspace, conversation_id, "agent", "blocked")
        await _BLOCK.rows(workspace=workspace, conversation_id=conversation_id, user_id=user_id, now=clock.now())


@query("Nobody is blocked because of this conversation.")
async def unblock(workspace: str, conversation_id: str) -> bool:
    """Undo what `block` did for this conversation's visitor. Raise NotFound when nobody is blocked."""


@query()
async def keep_consents(workspace: str, conversation_ids: list[str]) -> None:
    """Let the consents of leads outlive the conversations that they were given in, which are about to be deleted."""


async def withdraw_consent(workspace: str, lead_id: str, consent_id: str, user_id: str) -> None:
    """Record that a lead has withdrawn a consent. Raise NotFound, also when it is withdrawn already."""
    missing = NotFound("There is no such consent of this person, or it is withdrawn.")
    values = {"new": ids.new("cons"), "user": user_id, "now": clock.now()}
    await _WITHDRAW.one(missing, workspace=workspace, lead=lead_id, id=consent_id, **values)
