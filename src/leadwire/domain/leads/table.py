"""The lead table."""

from piccolo.columns import JSON, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class Lead(Table, db=DB, tablename="lead"):
    """A person who gave a bot an e-mail address or a phone number. One per (bot, e-mail)."""

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
