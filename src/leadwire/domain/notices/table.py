"""The tables of notices: who chose what, what people were told last, and addresses at Slack and Teams."""

from piccolo.columns import Array, Bytea, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class NoticeChoice(Table, db=DB, tablename="notice_choice"):
    """The kinds of notices that a person has chosen. Without a row they get those of their role."""

    declared = Declared(of="user_account", by="user_id", line="notice_choice", key="user_id")
    user_id = Text(primary_key=True)
    workspace_id = Text()
    kinds = Array(Text())


class Notice(Table, db=DB, tablename="notice"):
    """What the people of a workspace know. Key: (kind, workspace_id, subject)."""

    declared = Declared()
    workspace_id = Text()
    kind = Text(primary_key=True)
    subject = Text()  # an endpoint or a conversation; empty: the workspace's last mail of this kind
    state = Text(null=True, default=None)  # of the subject, as people were told
    at = Timestamptz()
    before = Timestamptz(null=True, default=None)  # of the last mail: when the one before it was


class NoticeAddress(Table, db=DB, tablename="notice_address"):
    """An address at Slack or Teams where a workspace is told of some kinds."""

    declared = Declared(line="notice_address", imported=False, sealed="url")
    id = Text(primary_key=True)
    workspace_id = Text()
    service = Text()  # slack or teams
    host = Text()  # of the URL: what is shown of it
    url = Bytea()  # sealed: who knows it can write there
    kinds = Array(Text())
    created_at = Timestamptz()
    pending = Array(Text())  # messages that are still to be sent, in order
    failed = SmallInt(default=0)  # attempts of the first of them
    due_at = Timestamptz(null=True, default=None)  # when its next one is due; null: at once
    error = Text(null=True, default=None)  # of the last attempt
    stopped_at = Timestamptz(null=True, default=None)  # it answered that there is no such address
