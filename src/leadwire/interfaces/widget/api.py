"""/widget/v1: what the widget calls. Its errors are problem+json, as those of /v1 are."""

import asyncio
import functools
import hashlib
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from litestar import Request, Router, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from litestar.response import Stream

from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.flow import attachments
from leadwire.domain.bots.schema import BotNotFound, ChatClosed, LiveBot, Turn, VisitorBlocked, VisitorSession
from leadwire.domain.bots.visitors import faq, identities, runtime, traces
from leadwire.domain.bots.visitors.opening import BotConfig, opening
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.changes import seen
from leadwire.domain.conversations.schema import ConversationNotFound, Origin
from leadwire.domain.leads.schema import Source
from leadwire.domain.notices.changes import transcript
from leadwire.infrastructure import settings, user_agents
from leadwire.infrastructure.errors import Conflict, Invalid, RateLimited, Unauthenticated
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import body
from leadwire.interfaces.http.client_network import network
from leadwire.interfaces.http.middleware import set_workspace
from leadwire.interfaces.http.requests import pairs_of
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get, options
from leadwire.interfaces.widget.origins import Origins
from leadwire.interfaces.widget.schema import Activity, NewConversation, NewRating, NewVisitorMessage, position

# A minute, per network and bot. Redis holds the networks' keyed hashes only.
_STARTS: Final = RateLimit("conversations", 30, shared=True)
_MESSAGES: Final = RateLimit("messages", 60, shared=True)
_COUNTS: Final = RateLimit("counts", 120, shared=False)
_GUESSES: Final = RateLimit("authentication", 60, shared=False)  # tokens that are none, per network
_MOST_STREAMS: Final = 4  # at once, per conversation and process: a browser needs one for all its tabs
_HELD: Final = 5.0  # seconds that a body may come later: the visitor may be blocked meanwhile
_PING: Final = 15.0  # seconds: proxies cut what is silent for longer

_COUNTED: Final[dict[bytes, counts.Kind]] = {b"shown": "shown", b"opened": "opened"}

_R = Request[Any, Any, Any]


@get("/bots/{bot_id:str}")
async def show_bot(request: _R, bot_id: FromPath[str]) -> JSONResponse[BotConfig]:
    """The bot's look and its first turn. Cacheable: the same for everybody who reads that language."""
    bot = await _bot(bot_id)
    config = opening(bot.id, bot.flow, bot.color, bot.look, request.headers.get("accept-language", ""))
    tag = f'"{hashlib.sha256(msgspec.json.encode(config)).hexdigest()[:24]}"'
    headers = [(b"etag", tag.encode()), (b"cache-control", b"no-cache"), (b"vary", b"Accept-Language")]
    if tag in request.headers.get("if-none-match", ""):
        return JSONResponse(None, status_code=304, headers=headers)  # type: ignore[arg-type]
    return JSONResponse(config, headers=headers)


@post("/bots/{bot_id:str}/counts", status_code=202)
async def count(request: _R, bot_id: FromPath[str]) -> JSONResponse[None]:
    """Count that a page has shown the widget (`shown`), or that a visitor has opened it (`opened`).

    The body is that word, as `text/plain`. Nothing is kept of the visitor. Written within seconds.
    """
    bot = await _bot(bot_id)
    _COUNTS.take(f"{network(request.scope)} {bot.id}", asyncio.get_running_loop().time())
    if (kind := _COUNTED.get((await body.read(request, 64)).strip())) is None:
        raise Invalid("The body is `shown` or `opened`.")
    counts.count(bot.id, kind)
    return JSONResponse(None, status_code=202)


@post("/bots/{bot_id:str}/conversations")
async def start_conversation(request: _R, bot_id: FromPath[str]) -> JSONResponse[Turn]:
    """Start a conversation with the visitor's first message."""
    try:
        bot = await _bot(bot_id)
    except BotNotFound:
        again = (await body.json_object(request)).get("client_message_id")
        return JSONResponse(await runtime.repeat_start(bot_id, str(again)), status_code=201)
    address = traces.blinded(bot.workspace, network(request.scope))
    _STARTS.take(f"{address.hex()} {bot.id}", asyncio.get_running_loop().time())
    fields = body.fields(await body.json_object(request), NewConversation)
    url, campaign = traces.page(fields.page_url)
    browser, system = user_agents.browser_and_system(request.headers.get("user-agent", ""))
    source = Source(url, campaign, traces.page(fields.referrer)[0])
    here = {"locale": fields.locale, "timezone": fields.timezone, "browser": browser, "os": system}
    origin = Origin(source=source, page=await identities.told(bot.id, fields.attributes, fields.identity), **here)
    said, answerer = (fields.content, fields.client_message_id), faq.answerer(settings.get())
    turn = await runtime.start(bot, *said, origin, address, answerer, fields.greeting)
    return JSONResponse(turn, status_code=201)


@post("/conversations/{conversation_id:str}/messages")
async def send_message(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """Take a visitor's message. The response holds the bot's replies and its next question."""
    session = await _session(request, conversation_id)
    address = traces.blinded(session.workspace, network(request.scope))
    _MESSAGES.take(f"{address.hex()} {session.bot_id}", asyncio.get_running_loop().time())
    fields = body.fields(await body.json_object(request), NewVisitorMessage)
    before = session.state.variables
    told = await identities.told(session.bot_id, fields.attributes, fields.identity, before)
    said, answerer = (fields.content, fields.client_message_id), faq.answerer(settings.get())
    return JSONResponse(await runtime.handle_message(session, *said, answerer, told))


@get("/conversations/{conversation_id:str}/messages")
async def read_messages(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """The messages after a position in the conversation (`after`, default 0)."""
    session = await _session(request, conversation_id, reaches=False)
    after = position(dict(pairs_of(request.scope["query_string"])).get("after", "0"))
    messages = await conversation_reads.messages(session.workspace, session.conversation_id, after)
    return JSONResponse(runtime.turn_of(session, messages))


@get("/conversations/{conversation_id:str}/events")
async def stream_events(request: _R, conversation_id: FromPath[str]) -> Stream:
    """Stream the messages from now on, while a person answers."""
    session = await _session(request, conversation_id, reaches=False)
    if session.status != "handoff":
        raise Conflict("The bot answers at once: there is nothing to wait for.", code="not_in_handoff")
    if pubsub.hub.watchers(session.workspace, session.conversation_id) >= _MOST_STREAMS:
        raise RateLimited(f"At most {_MOST_STREAMS} streams.", headers={"Retry-After": "15"})
    after = position(request.headers.get("last-event-id", "0"))
    return Stream(events(session, after), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@post("/conversations/{conversation_id:str}/handoff")
async def request_handoff(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """Ask for a person. Asking again changes nothing."""
    return JSONResponse(await runtime.hand_off(await _session(request, conversation_id)))


@post("/conversations/{conversation_id:str}/end")
async def end(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """End the conversation. Ending it again changes nothing."""
    session = await _session(request, conversation_id, reaches=False)
    await conversations.end(*session.place, "visitor", "closed by the visitor")
    return JSONResponse(runtime.turn_of(msgspec.structs.replace(session, status="ended"), []))


@post("/conversations/{conversation_id:str}/transcript")
async def send_transcript(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """Mail the conversation to the address that the visitor gave in it."""
    session = await _session(request, conversation_id)
    address = traces.blinded(session.workspace, network(request.scope))
    await transcript.send(*session.place, network=address.hex())
    return JSONResponse(runtime.turn_of(session, []))


@post("/conversations/{conversation_id:str}/rating")
async def rate(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """Rate a conversation that has ended. Rating it again replaces what was said before."""
    session = await _session(request, conversation_id)
    fields = body.fields(await body.json_object(request), NewRating)
    await seen.rate(*session.place, fields.rating, fields.comment.strip() or None)
    return JSONResponse(runtime.turn_of(session, []))


@post("/conversations/{conversation_id:str}/activity")
async def note_activity(request: _R, conversation_id: FromPath[str]) -> JSONResponse[Turn]:
    """Tell who answers that the visitor types, or how far they have read. Nobody answers: nothing is noted."""
    session = await _session(request, conversation_id, reaches=False)
    fields = body.fields(await body.json_object(request), Activity)
    if session.status == "handoff" and not session.blocked:
        if fields.typing:
            pubsub.publish(*session.place, "typing_visitor")
        await seen.by_visitor(*session.place, fields.seen)
    return JSONResponse(runtime.turn_of(session, []))


async def events(session: VisitorSession, after: int) -> AsyncIterator[bytes]:
    """The stream's bytes. Ends when nobody but the bot is there any more, or when the process stops; at once when there
    are too many, as several may have been let in at the same moment.

    What wakes a stream is never what it sends: it reads PostgreSQL from the last place the visitor has seen. So nothing
    is lost with a connection, a process or Redis, and `Last-Event-ID` is all there is to resume.
    """
    yield b"retry: 2000\n\n"
    read = 0
    with pubsub.hub.watch(session.workspace, session.conversation_id, ("changed", "typing_agent")) as watch:
        if pubsub.hub.watchers(session.workspace, session.conversation_id) > _MOST_STREAMS:
            return
        while not pubsub.hub.leaving:
            now = await reads.session(session.workspace, session.conversation_id)
            if now is not None and now.suspended:
                return
            new = await conversation_reads.messages(session.workspace, session.conversation_id, after)
            for message in attachments.for_widget(new, session.flow.nodes):
                after = message.seq
                yield b"id: %d\ndata: %s\n\n" % (after, msgspec.json.encode(message))
            if now is None or now.status != "handoff":
                yield b'event: status\ndata: {"status":"%s"}\n\n' % (now.status if now else "ended").encode()
                return
            if now.seen > read:
                read = now.seen
                yield b'event: seen\ndata: {"seq":%d}\n\n' % read
            changes = await watch.changed(_PING)
            if not changes:
                yield b":\n\n"
            if any(kind == "typing_agent" for _, kind in changes):
                yield b"event: typing\ndata: {}\n\n"


async def _bot(bot_id: str) -> LiveBot:
    bot = await reads.live(bot_id)
    set_workspace(bot.workspace)
    return bot


async def _session(request: _R, conversation_id: str, *, reaches: bool = True) -> VisitorSession:
    """The session of the caller's token, which is for one conversation only. Raise Unauthenticated, NotFound;
    RateLimited after many wrong tokens; WorkspaceSuspended; VisitorBlocked for what `reaches` people or the bot.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    session = await reads.session_by_token(token) if scheme.lower() == "bearer" and 0 < len(token) < 200 else None
    if session is None:
        _GUESSES.take(network(request.scope), asyncio.get_running_loop().time())
        raise Unauthenticated("This needs a visitor's token.", headers={"WWW-Authenticate": 'Bearer realm="widget"'})
    set_workspace(session.workspace)
    if session.conversation_id != conversation_id:
        raise ConversationNotFound
    if session.suspended:
        raise await why_closed(session.workspace, ChatClosed)
    if reaches and session.blocked:
        raise VisitorBlocked
    body.look_again(request.scope, _HELD, functools.partial(_session, request, conversation_id, reaches=reaches))
    return session


_HANDLERS: Final = [value for value in list(globals().values()) if isinstance(value, HTTPRouteHandler)]
router = Router(
    "/widget/v1",
    route_handlers=[*_HANDLERS, *options(*_HANDLERS)],
    middleware=[Origins()],
    response_class=JSONResponse,
)
