"""What is removed: a person from their conversations, what was said, whole conversations. `privacy` decides, and opens
the transaction.
"""

from leadwire.domain.conversations import events
from leadwire.domain.leads.schema import Lead
from leadwire.domain.search import changes as search
from leadwire.infrastructure.db.queries import query


@query()
async def lock_of_lead(workspace: str, lead_id: str) -> list[str]:
    """Lock the conversations of a lead. Return the e-mail address that was given in each, or an empty text."""


@query()
async def _erase(workspace: str, lead_id: str, conversation_id: str) -> list[str]: ...


@query()
async def _erase_messages(ids: list[str]) -> None: ...


@query()
async def _blank(workspace: str, ids: list[str]) -> None: ...


@query()
async def _delete(workspace: str, ids: list[str]) -> None: ...


async def erase(workspace: str, lead: Lead) -> list[str]:
    """Erase a person from their conversations: names, messages, tags. Return the conversations' ids."""
    conversation_ids = await _erase(workspace, lead.id, lead.conversation_id)
    await _erase_messages(conversation_ids)
    await search.forget(workspace, conversation_ids)
    return conversation_ids


async def blank(workspace: str, conversation_ids: list[str]) -> None:
    """Remove what was said and answered in conversations."""
    await _blank(workspace, conversation_ids)
    await search.forget(workspace, conversation_ids)


async def delete(workspace: str, conversation_ids: list[str]) -> None:
    """Delete conversations with their messages, notes, points and visitors' sessions."""
    await _delete(workspace, conversation_ids)
    await events.deleted(workspace).record()
