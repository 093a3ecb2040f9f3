"""Conversations and their messages."""

from piccolo.columns import JSON, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class Conversation(Table, db=DB, tablename="conversation"):
    """One visit's talk with one bot: active, then perhaps handoff, then ended for good."""

    id = Text(primary_key=True)
    workspace_id = Text()
    bot_id = Text()
    lead_id = Text(null=True, default=None)  # whom it turned out to be
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


class Message(Table, db=DB, tablename="message"):
    """One thing said. Ordered by `seq` within its conversation, never by time."""

    id = Text()
    workspace_id = Text()
    conversation_id = Text(primary_key=True)  # with seq; Piccolo has no word for a composite key
    seq = Integer()
    role = Text()  # bot, user or agent
    content = Text()
    answers = Text(null=True, default=None)  # the lead field this told, or `repeated`: a bot's words go with the lead
    client_message_id = Text(null=True, default=None)  # a visitor's retry finds its first try by this
    created_at = Timestamptz()
    user_id = Text(null=True, default=None)  # which person, where role is agent


class ConversationNote(Table, db=DB, tablename="conversation_note"):
    """What operators tell each other. Never leaves the web area."""

    id = Text(primary_key=True)
    workspace_id = Text()
    conversation_id = Text()
    user_id = Text()
    content = Text()
    created_at = Timestamptz()


class SavedReply(Table, db=DB, tablename="saved_reply"):
    """What people of a workspace say often."""

    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    content = Text()
    created_at = Timestamptz()
