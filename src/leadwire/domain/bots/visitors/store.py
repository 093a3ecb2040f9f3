"""Storing a turn: its conversation and lead, and with them, in the same statement, what only bots know of."""

from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.accounts import keys
from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.flow.engine import Consented, Scored, State
from leadwire.domain.bots.visitors.decide import TurnPlan
from leadwire.domain.conversations import store as conversations
from leadwire.domain.conversations.store import Part
from leadwire.domain.leads.schema import Source
from leadwire.infrastructure import ids
from leadwire.infrastructure.db.statements import parts

_PARTS: Final = parts(__file__)


class Start(Struct, frozen=True):
    """Of a new session: its token, what finds it when the same start is sent again, and its blinded network."""

    token: str
    key: bytes
    address: bytes | None
    source: Source


async def store_turn(turn: TurnPlan, start: Start | None) -> None:
    """Store a turn, and count it. Raise as `conversations.store`."""
    before, after = turn.before, turn.after
    more = []
    state = {"state": _encoded(after.state)}
    if start:
        flow = after.flow
        times = {"nudge_minutes": flow.nudge_minutes if (flow.nudge_text or "").strip() else None}
        times |= {"inactivity_minutes": flow.inactivity_minutes}
        visit = {"token_hash": keys.digest(start.token), "start_key": start.key, "address": start.address}
        more.append(Part(_PARTS["visit"], {**state, **visit, **times}))
    elif state["state"] != _encoded(before.state):
        more.append(Part(_PARTS["state"], state))
    if turn.scored:
        values = {
            f"scored_{name}": [getattr(score, name) for score in turn.scored] for name in Scored.__struct_fields__
        }
        more.append(Part(_PARTS["scores"], values))
    if turn.consented:
        names = Consented.__struct_fields__
        values = {f"consent_{name}": [getattr(consent, name) for consent in turn.consented] for name in names}
        more.append(Part(_PARTS["consents"], values | {"consent_id": [ids.new("cons") for _ in turn.consented]}))
    captured = before.lead_id is None and after.lead_id is not None
    if captured and after.flow.asks_consent:
        more.append(Part(_PARTS["earlier_consents"]))
    await conversations.store(turn.talk, *more)
    if start:
        counts.began(after.bot_id, start.source, before.state.visited)
    counts.went(after.bot_id, before.state.visited, after.state.visited)
    if captured and turn.talk.lead:
        counts.captured(after.bot_id, turn.talk.lead.lead, after.conversation_id)
    if any(event.kind == "conversation.handoff" for event in turn.talk.events):
        counts.count(after.bot_id, "handoff")


def _encoded(state: State) -> str:
    """The state without the variables: those are the conversation's, where an erasure finds them."""
    return msgspec.json.encode(msgspec.structs.replace(state, variables={})).decode()
