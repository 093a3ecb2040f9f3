"""Erase a person in one transaction: from rows of which their tables say so (`person`), and by hand from others."""

from datetime import datetime

from leadwire.delivery.erase import erase_events
from leadwire.domain.conversations.changes import erasing as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import history
from leadwire.domain.leads import reads as lead_reads
from leadwire.domain.leads.schema import LeadDeleted
from leadwire.domain.privacy import person_rows, reads
from leadwire.domain.privacy.person_rows import Person
from leadwire.domain.views import changes as views
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import NotFound, PreconditionFailed


async def erase_lead(
    workspace: str, lead_id: str, *, if_match: frozenset[int] | None = None, silent_since: datetime | None = None
) -> LeadDeleted:
    """Delete a lead and every trace of the person: in conversations, event bodies and stored responses.

    The conversations stay, without what identifies the person. Raise NotFound, also the second time;
    PreconditionFailed when the lead's version is none of `if_match`, or something has happened to it `silent_since`.
    """
    if not ids.is_id("lead", lead_id):
        raise NotFound("There is no such lead.")
    async with db.transaction():
        # Conversations before leads, as a visitor's turn locks them: the other way round the two could deadlock.
        emails = await conversations.lock_of_lead(workspace, lead_id)
        stored = await lead_reads.stored(workspace, lead_id, lock=True)
        if if_match is not None and stored.version not in if_match:
            raise PreconditionFailed("The lead has changed since you read it.")
        # A turn that we have waited for may have changed a conversation alone.
        if silent_since is not None and await reads.lead_last_at(workspace, lead_id) >= silent_since:
            raise PreconditionFailed("Something has happened to the lead.")
        # Addresses that they had before are in events as long as these are kept, and in conversations.
        ways = [stored.lead.email, stored.lead.phone, *emails, *await history.ways(workspace, lead_id)]
        conversation_ids = await conversations.erase(workspace, stored.lead)
        await erase_events(lead_id, conversation_ids)
        addresses = [way.lower() for way in ways if way]
        await person_rows.erase(Person(workspace, lead_id, conversation_ids, addresses))
        await views.erase(workspace, *ways)
        await leads.delete(workspace, stored.lead)
    return LeadDeleted(lead_id)


async def erase_person(workspace: str, email: str) -> list[str]:
    """Erase every lead with this e-mail address. Return their ids."""
    async with db.transaction():
        # All of them first: who erases one waits for the search's lock with its conversations. Then it may be gone.
        for lead_id in await _with_email(workspace, email):
            await conversations.lock_of_lead(workspace, lead_id)
        ids = await _with_email(workspace, email)
        for lead_id in ids:
            await erase_lead(workspace, lead_id)
    return ids


async def _with_email(workspace: str, email: str) -> list[str]:
    return sorted(lead.id for lead in await lead_reads.with_email(workspace, email))
