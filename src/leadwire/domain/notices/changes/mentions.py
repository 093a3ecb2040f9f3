"""Notes that mention colleagues: each of them is told by mail at once, if they have chosen so.

One person causes few such mails an hour; beyond that, who is mentioned sees it in the inbox alone.
"""

from typing import Final

from leadwire.domain.conversations.changes import inbox
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices import links, reads
from leadwire.domain.notices.schema import MENTIONS
from leadwire.infrastructure import db
from leadwire.infrastructure.rate_limit import RateLimit

_FROM_ONE: Final = RateLimit("mentions", 30, window=3600, shared=True)


async def note(workspace: str, conversation_id: str, user_id: str, content: str, by: str) -> int:
    """Add a note of the user whose address is `by`, and tell whom it mentions. Return how many mails were written.

    Raise as `inbox.note`.
    """
    async with db.transaction():
        mentioned = {one.id for one in await inbox.note(workspace, conversation_id, user_id, content)}
        people = await reads.recipients(workspace, MENTIONS) if mentioned else []
        values = {"by": by, "path": f"/inbox?c={conversation_id}"}
        sent = 0
        for person, email, name in (one for one in people if one["id"] in mentioned):
            if not await _FROM_ONE.take_at_once(user_id):
                break
            stop = links.path(workspace, person, MENTIONS.kind)
            sent += await mail.queue(
                workspace, MENTIONS.kind, email, values | {"workspace": name}, user_id=person, unsubscribe=stop
            )
        return sent
