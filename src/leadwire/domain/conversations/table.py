"""The tables of conversations."""

from typing import Final

from piccolo.columns import JSON, Array, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared

IN_CONVERSATION: Final = "conversation_id = ANY(:conversations)"
"""The condition for what belongs to a person because it belongs to their conversations."""


class Conversation(Table, db=DB, tablename="conversation"):
    """A conversation of one visitor with one bot: active, then perhaps handoff, then ended for good."""

    declared = Declared(
        line="conversation", key="created_at id", refers="bot lead user_account search_due", by_hand="erasure"
    )
    id = Text(primary_key=True)
    workspace_id = Text()
    bot_id = Text()
    lead_id = Text(null=True, default=None)  # the lead that the visitor became
    status = Text(default="active")
    visitor_email = Text(null=True, default=None)
    visitor_name = Text(null=True, default=None)
    messages_count = Integer(default=0)
    source_url = Text(null=True, default=None)
    source_campaign = Text(null=True, default=None)
    source_referrer = Text(null=True, default=None)
    locale = Text(null=True, default=None)
    timezone = Text(null=True, default=None)
    browser = Text(null=True, default=None)
    os = Text(null=True, default=None)
    flow_version = Integer(null=True, default=None)
    variables = JSON()
    handoff_reason = Text(null=True, default=None)
    handoff_requested_at = Timestamptz(null=True, default=None)
    ended_at = Timestamptz(null=True, default=None)
    ended_by = Text(null=True, default=None)
    end_reason = Text(null=True, default=None)
    assigned_to = Text(null=True, default=None)  # the user who has claimed it
    assigned_at = Timestamptz(null=True, default=None)
    created_at = Timestamptz()
    updated_at = Timestamptz()
    rating = SmallInt(null=True, default=None)  # the visitor's, 1 to 5, once it has ended
    rating_comment = Text(null=True, default=None)
    seen_by_visitor_seq = Integer(default=0)  # the last message that they have seen
    seen_by_agent_seq = Integer(default=0)
    first_response_at = Timestamptz(null=True, default=None)  # a person's first message
    snoozed_until = Timestamptz(null=True, default=None)
    end_due_at = Timestamptz(null=True, default=None)  # an operator has ended it; until then that can be undone
    tags = Array(Text(), default=list)


class Message(Table, db=DB, tablename="message"):
    """One message. Ordered by `seq` within its conversation, never by time."""

    declared = Declared(
        of="conversation", part="messages", order="conversation_id, seq", hidden="client_message_id",
        shown=IN_CONVERSATION, by_hand="erasure",
    )  # fmt: skip
    id = Text()
    workspace_id = Text()
    conversation_id = Text(primary_key=True)  # with seq; Piccolo has no word for a composite key
    seq = Integer()
    role = Text()  # bot, user or agent
    content = Text()
    # The lead field it answers, or `repeated` for a bot's message that repeats one: erased with the lead.
    answers = Text(null=True, default=None)
    client_message_id = Text(null=True, default=None)  # finds the first request of a retried one
    created_at = Timestamptz()
    user_id = Text(null=True, default=None)  # the operator, where role is agent


class ConversationNote(Table, db=DB, tablename="conversation_note"):
    """What an operator wrote for the others. Never leaves the web area."""

    declared = Declared(
        of="conversation", part="notes", order="conversation_id, created_at, id", person=IN_CONVERSATION, said=True
    )
    id = Text(primary_key=True)
    workspace_id = Text()
    conversation_id = Text()
    user_id = Text()
    content = Text()
    created_at = Timestamptz()
    mentions = Array(Text(), default=list)  # users


class ConversationRead(Table, db=DB, tablename="conversation_read"):
    """How far an operator has read a conversation. Key: (user_id, conversation_id)."""

    declared = Declared(of="conversation", refers="user_account")
    user_id = Text(primary_key=True)
    conversation_id = Text()
    workspace_id = Text()
    seq = Integer(default=0)
    mentioned_at = Timestamptz(null=True, default=None)  # in a note that they have not seen yet


class SavedReply(Table, db=DB, tablename="saved_reply"):
    """A reply that is used often."""

    declared = Declared(line="saved_reply")
    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    content = Text()
    created_at = Timestamptz()
