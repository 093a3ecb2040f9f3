"""Mails, and the addresses that mail servers do not know."""

from piccolo.columns import Bytea, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class Mail(Table, db=DB, tablename="mail"):
    """One mail to one person. `state` is waiting, sent or dead."""

    declared = Declared(
        refers="user_account", sealed="data", hidden="due_at", said=True,
        person="recipient = ANY(:addresses) OR about = ANY(:conversations)", listed="mails", order="created_at, id",
        ends="state = 'sent' AND finished_at < now() - interval '7 days'"
        " OR state = 'dead' AND finished_at < now() - :retention_days * interval '1 day'",
    )  # fmt: skip
    id = Text(primary_key=True)  # in its Message-ID
    workspace_id = Text()
    user_id = Text(null=True, default=None)  # whose account, with which it goes
    about = Text(null=True, default=None)  # a conversation, with whose erasure it goes
    kind = Text()
    recipient = Text()
    data = Bytea(null=True, default=None)  # sealed; null once it is sent
    state = Text()
    priority = SmallInt()  # the lowest first
    attempts = Integer()
    created_at = Timestamptz()
    due_at = Timestamptz()  # while it is being sent: when somebody else may
    finished_at = Timestamptz(null=True, default=None)
    error = Text(null=True, default=None)


class MailSuppression(Table, db=DB, tablename="mail_suppression"):
    """An address that mail was refused for."""

    declared = Declared(
        line="mail_suppression", key="address", person="address = ANY(:addresses)", listed="mails", order="address"
    )
    workspace_id = Text(primary_key=True)  # with address
    address = Text()
    reason = Text()  # what the mail server said
    created_at = Timestamptz()
