"""The tables of notices: who chose what, and what people were told last."""

from piccolo.columns import Array, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class NoticeChoice(Table, db=DB, tablename="notice_choice"):
    """The kinds of notices that a person has chosen. Without a row they get those of their role."""

    user_id = Text(primary_key=True)
    workspace_id = Text()
    kinds = Array(Text())


class Notice(Table, db=DB, tablename="notice"):
    """What the people of a workspace know. Key: (kind, workspace_id, subject)."""

    workspace_id = Text()
    kind = Text(primary_key=True)
    subject = Text()  # an endpoint or a conversation; empty: the workspace's last mail of this kind
    state = Text(null=True, default=None)  # of the subject, as people were told
    at = Timestamptz()
    before = Timestamptz(null=True, default=None)  # of the last mail: when the one before it was
