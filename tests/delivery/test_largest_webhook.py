"""No webhook is larger than `settings.LARGEST_WEBHOOK`, whatever the limits of the fields let in."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadwire.delivery import envelope
from leadwire.domain.bots.flow.nodes import Label
from leadwire.domain.conversations.schema import (
    MAX_MESSAGES,
    MAX_TEXT,
    ConversationEnded,
    ConversationHandoff,
    ConversationStarted,
    Handoff,
    MessageEvent,
    Metadata,
    Visitor,
)
from leadwire.domain.leads.schema import (
    LENGTHS,
    MAX_CUSTOM_BYTES,
    FieldKey,
    FieldValue,
    Lead,
    LeadUpdated,
    Source,
    fitting,
    previous_attributes,
    too_large,
)
from leadwire.infrastructure import clock
from leadwire.infrastructure.settings import LARGEST_WEBHOOK
from leadwire.interfaces.widget.schema import Short, Url

AT = "2026-01-02T03:04:05.678Z"
ID = "x" * 40
CAMPAIGN = 200
CHARACTERS = ["a", '"', "\\", "é", "€", "\U0001f600"]  # one to four bytes, or two by an escape


def longest(kind):
    """The most characters of a text."""
    return next(meta.max_length for meta in kind.__metadata__ if meta.max_length)


VALUE = longest(FieldValue.__args__[0])


@st.composite
def text(draw, most, characters=CHARACTERS):
    return draw(st.sampled_from(characters)) * draw(st.sampled_from([most, most // 2, 1]))


@st.composite
def custom_fields(draw, start):
    """As many fields as fit; their names are of one of two sets, so that two leads share none, some or all."""
    size = draw(st.sampled_from([1, 8, longest(FieldKey)]))
    character = draw(st.sampled_from(CHARACTERS))
    values = st.one_of(text(VALUE, [*CHARACTERS, "\n"]), text(20), st.sampled_from([0, True, -(2**63), 1.5e-300]))
    names = [f"{number:02}{character * (size - 2)}"[:64] for number in range(start, start + 60)]
    return fitting({}, {name: draw(values) for name in names})


@st.composite
def leads(draw, start=0):
    source = Source(draw(text(longest(Url))), draw(text(CAMPAIGN)), draw(text(longest(Url))))
    texts = {name: draw(text(most)) for name, most in LENGTHS.items()}
    fields = draw(custom_fields(start))
    assert not too_large(fields)
    return lead_of(texts, source, fields)


def lead_of(texts, source, fields):
    return Lead(
        id=ID, **texts, score=100, source=source, custom_fields=fields, conversation_id=ID, bot_id=ID,
        created_at=AT, updated_at=AT,
    )  # fmt: skip


def size(kind, data):
    return len(envelope.encode(kind, clock.now(), data).encode())


def updated(before, after):
    return LeadUpdated(**msgspec.structs.asdict(after), previous_attributes=previous_attributes(before, after))


@given(leads(), st.sampled_from([0, 30, 100]).flatmap(leads))
@settings(max_examples=150)
def test_a_changed_lead(before, after):
    assert size("lead.updated", updated(before, after)) <= LARGEST_WEBHOOK
    assert size("lead.created", after) <= LARGEST_WEBHOOK


def test_the_largest_changed_lead_there_can_be():
    def lead(character, fields):
        url = character * longest(Url)
        texts = {name: character * most for name, most in LENGTHS.items()}
        return lead_of(texts, Source(url, character * CAMPAIGN, url), fields)

    whole = {f"{n:02}": "x" * (VALUE if n < 12 else 180) for n in range(13)}
    names = {f"{n:02}" + "\U0001f600" * 59: 0 for n in range(50)}  # all of it names: each comes once more, as null
    for fields in (whole, names):
        assert MAX_CUSTOM_BYTES - 150 < len(msgspec.json.encode(fields)) <= MAX_CUSTOM_BYTES
    body = size("lead.updated", updated(lead("\U0001f601", whole), lead("\U0001f600", names)))
    assert LARGEST_WEBHOOK * 0.9 < body <= LARGEST_WEBHOOK


@pytest.mark.parametrize("character", ["\x01", "\\", "\U0001f600"])
def test_a_message(character):
    data = MessageEvent(ID, "agent", character * MAX_TEXT, AT, conversation_id=ID, bot_id=ID)
    assert size("message.sent", data) <= LARGEST_WEBHOOK


@given(leads(), text(longest(Label)))
@settings(max_examples=30)
def test_a_conversation(lead, reason):
    common = {"id": ID, "bot_id": ID, "status": "handoff", "visitor": Visitor(lead.email, lead.name)}
    common |= {"messages_count": MAX_MESSAGES, "created_at": AT, "updated_at": AT}
    handoff, short = Handoff(reason, AT), "\U0001f600" * longest(Short)
    metadata = Metadata(lead.source, short, short, short, short, 10**9, {}, AT, "system", reason, handoff)
    for kind, data in (
        ("conversation.started", ConversationStarted(**common, metadata=metadata)),
        ("conversation.handoff", ConversationHandoff(**common, handoff=handoff, lead=lead)),
        ("conversation.ended", ConversationEnded(**common, ended_at=AT, ended_by="system", reason=reason, lead=lead)),
    ):
        assert size(kind, data) <= LARGEST_WEBHOOK
