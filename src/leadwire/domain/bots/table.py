"""Bots, their versions and FAQ, visitors' sessions and what follows from them."""

from typing import Final

from piccolo.columns import JSON, Array, Boolean, Bytea, Date, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.domain.conversations.table import IN_CONVERSATION
from leadwire.domain.search.table import TSVector
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared

FAQ_WORDS: Final = """setweight(to_tsvector('english', question), 'A') ||
    setweight(to_tsvector('simple', question), 'B') || setweight(to_tsvector('english', answer), 'D')"""
"""SQL of an entry's search document: the question's words weigh more than the answer's."""


class Bot(Table, db=DB, tablename="bot"):
    """A chatbot of a workspace: what visitors talk to."""

    declared = Declared(line="bot", hidden="draft_undo draft_redo", sealed="identity_secret")
    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    created_at = Timestamptz()
    draft = Text(null=True, default=None)  # a flow as its author wrote it, TOML or JSON
    draft_saved_at = Timestamptz(null=True, default=None)
    published_version = Integer(null=True, default=None)  # what new conversations run; null: it does not answer
    paused_version = Integer(null=True, default=None)  # what they ran before it was paused
    archived_at = Timestamptz(null=True, default=None)
    allowed_origins = Array(Text())  # websites that may embed it; `*` = any
    color = Text()
    look = JSON()  # look.Look, without the color
    description = Text()
    draft_revision = Integer()
    draft_saved_by = Text(null=True, default=None)  # null: not on a screen
    draft_authors = JSON()  # who changed a step last, with their tab, by its id
    draft_undo = Array(Text())  # what the draft was before, the latest last
    identity_secret = Bytea(null=True, default=None)  # sealed: what websites sign their visitors' identities with
    draft_redo = Array(Text())  # what was taken back, the latest last


class BotVersion(Table, db=DB, tablename="bot_version"):
    """A published flow. Never changed: conversations that began with it go on with it."""

    declared = Declared(of="bot", line="bot_version", key="bot_id version", stays=True)
    bot_id = Text(primary_key=True)  # with version
    version = Integer()
    workspace_id = Text()
    source = Text()
    created_at = Timestamptz()
    published_by = Text(null=True, default=None)  # null: not on a screen
    note = Text(null=True, default=None)


class FaqEntry(Table, db=DB, tablename="faq_entry"):
    """One question that a bot has been taught the answer to."""

    declared = Declared(
        of="bot", line="faq_entry", key="bot_id created_at id", hidden="search", made={"search": FAQ_WORDS}
    )
    id = Text(primary_key=True)
    workspace_id = Text()
    bot_id = Text()
    question = Text()
    answer = Text()
    search = TSVector()
    created_at = Timestamptz()


class Visit(Table, db=DB, tablename="visit"):
    """A visitor's session: whose token may write in the conversation, and where in the flow it is."""

    declared = Declared(
        of="conversation", person=IN_CONVERSATION, blank={"address": "NULL"}, listed="visits", order="started_at"
    )
    conversation_id = Text(primary_key=True)
    workspace_id = Text()
    bot_id = Text()
    token_hash = Bytea()  # SHA-256 of the visitor's token
    start_key = Bytea()  # of the bot and the first client_message_id: a retried start finds its first try
    address = Bytea(null=True, default=None)  # keyed hash of the address' network: to block by, not to read
    state = JSON()  # engine.State without the variables, which are the conversation's
    nudge_minutes = Integer(null=True, default=None)
    inactivity_minutes = Integer()
    nudged_at = Timestamptz(null=True, default=None)
    started_at = Timestamptz()


class ScoreEntry(Table, db=DB, tablename="score_entry"):
    """Points that a conversation gave its lead, and why."""

    declared = Declared(
        of="conversation", part="scores", order="conversation_id, created_at, node, label", person=IN_CONVERSATION
    )
    conversation_id = Text(primary_key=True)  # with node and label
    node = Text()
    label = Text()
    workspace_id = Text()
    points = Integer()
    created_at = Timestamptz()


class Consent(Table, db=DB, tablename="consent"):
    """What a visitor was asked to consent to, and what they answered."""

    declared = Declared(
        line="consent", refers="conversation lead", person=IN_CONVERSATION, listed="consents",
        shown="lead_id = :lead", order="id",
    )  # fmt: skip
    id = Text(primary_key=True)
    workspace_id = Text()
    conversation_id = Text(null=True, default=None)  # null: it is no longer kept
    lead_id = Text(null=True, default=None)  # null: the visitor has not become one
    bot_id = Text()
    flow_version = Integer(null=True, default=None)
    node = Text()
    text = Text()  # as the visitor read it
    answer = Text()
    given = Boolean()  # false: refused or withdrawn
    user_id = Text(null=True, default=None)  # who recorded a withdrawal; null: the visitor answered the bot
    created_at = Timestamptz()


class BlockedVisitor(Table, db=DB, tablename="blocked_visitor"):
    """A network whose visitors are blocked, until the conversation is gone on whose page that can be undone."""

    declared = Declared(
        refers="conversation", line="blocked_visitor", key="created_at conversation_id", imported=False, keyed=True,
        listed="blocks", shown=IN_CONVERSATION, order="created_at",
        ends="NOT EXISTS (SELECT FROM conversation c WHERE c.id = blocked_visitor.conversation_id)",
    )  # fmt: skip
    workspace_id = Text(primary_key=True)  # with address
    address = Bytea()
    conversation_id = Text()  # what they were blocked for
    user_id = Text()
    created_at = Timestamptz()


class BotCount(Table, db=DB, tablename="bot_count"):
    """How often something happened with a bot on a day (UTC), for figures. It holds no persons."""

    declared = Declared(of="bot", ends="bot_id = ANY(ARRAY(SELECT id FROM bot)) AND day < current_date - 800")
    bot_id = Text(primary_key=True)  # with day, kind and name
    day = Date()
    kind = Text()  # see `changes.counts.Kind`
    name = Text()  # of the node, the website or the campaign; else empty
    total = Integer()
