"""Server-sent events for a visitor who talks to a person: only while that lasts, the rest needs no open connection.

What wakes a stream is never what it sends: it reads PostgreSQL from the last place the visitor has seen. So nothing is
lost with a connection, a process or Redis, and `Last-Event-ID` is all there is to resume.
"""

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from leadwire.domain.bots import reads
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.pubsub import hub

MOST: Final = 4  # at once, per conversation and process: a browser needs one for all its tabs
_PING: Final = 15.0  # seconds: proxies cut what is silent for longer


async def events(session: VisitorSession, after: int) -> AsyncIterator[bytes]:
    """The stream's bytes. Ends when nobody but the bot is there any more, or when the process stops; at once when there
    are too many, as several may have been let in at the same moment.
    """
    yield b"retry: 2000\n\n"
    with hub.watch(session.workspace, session.conversation_id) as watch:
        if hub.watchers(session.workspace, session.conversation_id) > MOST:
            return
        while not hub.leaving:
            now = await reads.session(session.workspace, session.conversation_id)
            for message in await conversation_reads.messages(session.workspace, session.conversation_id, after):
                after = message.seq
                yield b"id: %d\ndata: %s\n\n" % (after, msgspec.json.encode(message))
            if now is None or now.status != "handoff":
                yield b'event: status\ndata: {"status":"%s"}\n\n' % (now.status if now else "ended").encode()
                return
            if not await watch.wait(_PING):
                yield b":\n\n"
