"""The tables of search."""

from piccolo.columns import BigInt, Column, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class TSVector(Column):
    """Lexemes with their positions, for which Piccolo has no column. It takes the name of the class."""

    value_type = str


class SearchDocument(Table, db=DB, tablename="search_document"):
    """What a conversation, note or lead is found by."""

    declared = Declared(moves=False, fenced=False, by_hand="deletion erasure")
    id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    created_at = Timestamptz()  # when the conversation, note or lead was made
    lexemes = TSVector()


class SearchDue(Table, db=DB, tablename="search_due"):
    """A change of what something is found by, noted by a trigger."""

    declared = Declared(refers="search_document", moves=False, fenced=False, by_hand="deletion")
    number = BigInt(primary_key=True)
    workspace_id = Text()
    subject = Text()  # the id of the conversation, note or lead
