"""Mails, and the addresses that mail servers do not know."""

from typing import Final

from piccolo.columns import Bytea, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class Mail(Table, db=DB, tablename="mail"):
    """One mail to one person. `state` is waiting, sent or dead."""

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

    workspace_id = Text(primary_key=True)  # with address
    address = Text()
    reason = Text()  # what the mail server said
    created_at = Timestamptz()


SEALED: Final = (Mail.data,)
"""Columns that `secret_box` seals."""
