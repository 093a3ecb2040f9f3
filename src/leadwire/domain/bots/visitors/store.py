"""Storing a turn: its conversation and lead, and with them, in the same statement, what only bots know of."""

from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.accounts import keys
from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.engine import Consented, Scored, State
from leadwire.domain.bots.visitors.decide import TurnPlan
from leadwire.domain.conversations import store as conversations
from leadwire.domain.conversations.store import Part
from leadwire.domain.leads.schema import Source
from leadwire.infrastructure import ids

_VISIT: Final = """visit AS (
    INSERT INTO visit (conversation_id, workspace_id, bot_id, token_hash, start_key, address, state, nudge_minutes,
        inactivity_minutes, started_at)
    SELECT changed.id, :workspace, :bot_id, :token_hash, :start_key, :address, :state, :nudge_minutes,
        :inactivity_minutes, :created_at FROM changed
)"""
_STATE: Final = "visit AS (UPDATE visit SET state = :state FROM changed WHERE conversation_id = changed.id)"
# A row for each rule that gave points; a rule counts once in a conversation.
_SCORES: Final = """scores AS (
    INSERT INTO score_entry (conversation_id, workspace_id, created_at, node, label, points)
    SELECT changed.id, :workspace, :updated_at, new.*
    FROM changed, unnest(:scored_node::text[], :scored_label::text[], :scored_points::int[]) AS new
    ON CONFLICT DO NOTHING
)"""
# A row for each answer, about the lead that the visitor has become, if any.
_CONSENTS: Final = """consents AS (
    INSERT INTO consent (workspace_id, conversation_id, lead_id, bot_id, flow_version, created_at, id, node, text,
        answer, given)
    SELECT :workspace, changed.id, :lead_id, :bot_id, :flow_version, :updated_at, new.*
    FROM changed, unnest(:consent_id::text[], :consent_node::text[], :consent_text::text[], :consent_answer::text[],
        :consent_given::bool[]) AS new
)"""
# Gives a new lead what they have consented to before they became one.
_EARLIER_CONSENTS: Final = """earlier_consents AS (
    UPDATE consent SET lead_id = :lead_id FROM changed WHERE conversation_id = changed.id AND consent.lead_id IS NULL
)"""


class Start(Struct, frozen=True):
    """Of a new session: its token, what finds it when the same start is sent again, and its blinded network."""

    token: str
    key: bytes
    address: bytes | None
    source: Source


async def store(turn: TurnPlan, start: Start | None) -> None:
    """Store a turn, and count it. Raise as `conversations.store`."""
    before, after = turn.before, turn.after
    parts = []
    state = {"state": _encoded(after.state)}
    if start:
        flow = after.flow
        times = {"nudge_minutes": flow.nudge_minutes if flow.nudge_text else None}
        times |= {"inactivity_minutes": flow.inactivity_minutes}
        found = {"token_hash": keys.digest(start.token), "start_key": start.key, "address": start.address}
        parts.append(Part(_VISIT, {**state, **found, **times}))
    elif state["state"] != _encoded(before.state):
        parts.append(Part(_STATE, state))
    if turn.scored:
        values = {f"scored_{name}": [getattr(one, name) for one in turn.scored] for name in Scored.__struct_fields__}
        parts.append(Part(_SCORES, values))
    if turn.consented:
        names = Consented.__struct_fields__
        values = {f"consent_{name}": [getattr(one, name) for one in turn.consented] for name in names}
        parts.append(Part(_CONSENTS, values | {"consent_id": [ids.new("cons") for _ in turn.consented]}))
    captured = before.lead_id is None and after.lead_id is not None
    if captured and after.flow.asks_consent:
        parts.append(Part(_EARLIER_CONSENTS))
    await conversations.store(turn.talk, *parts)
    if start:
        counts.began(after.bot_id, start.source, before.state.visited)
    counts.went(after.bot_id, before.state.visited, after.state.visited)
    if captured and turn.talk.lead:
        counts.captured(after.bot_id, turn.talk.lead.lead, after.conversation_id)
    if any(one.kind == "conversation.handoff" for one in turn.talk.events):
        counts.count(after.bot_id, "handoff")


def _encoded(state: State) -> str:
    """The state without the variables: those are the conversation's, where an erasure finds them."""
    return msgspec.json.encode(msgspec.structs.replace(state, variables={})).decode()
