"""The lead table."""

from piccolo.columns import JSON, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class Lead(Table, db=DB, tablename="lead"):
    """A person who gave a bot an e-mail address or a phone number. One per (bot, e-mail)."""

    declared = Declared(line="lead", key="created_at id", refers="bot search_due", by_hand="erasure")
    id = Text(primary_key=True)
    workspace_id = Text()  # leading column of every index that lists leads
    bot_id = Text()
    conversation_id = Text()
    email = Text(null=True, default=None)
    name = Text(null=True, default=None)
    phone = Text(null=True, default=None)  # E.164 where it parses
    company = Text(null=True, default=None)
    score = SmallInt(default=0)  # 0-100
    source_url = Text(null=True, default=None)
    source_campaign = Text(null=True, default=None)
    source_referrer = Text(null=True, default=None)
    custom_fields = JSON()
    version = Integer(default=1)  # +1 a change: the strong ETag
    created_at = Timestamptz()
    updated_at = Timestamptz()


class LeadByUpdate(Table, db=DB, tablename="lead_by_update"):
    """What lists by update read, without what they do not filter by. Triggers keep it. Its key is all of it."""

    declared = Declared(of="lead", by="id", moves=False, fenced=False)
    workspace_id = Text()
    updated_at = Timestamptz()
    id = Text(primary_key=True)
    bot_id = Text()
    score = SmallInt()
