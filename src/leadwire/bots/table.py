"""Bots."""

from piccolo.columns import Text, Timestamptz
from piccolo.table import Table

from leadwire.db import DB


class Bot(Table, db=DB, tablename="bot"):
    """A chatbot of a workspace: what visitors talk to."""

    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    created_at = Timestamptz()
