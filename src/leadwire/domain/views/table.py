"""The table of saved views."""

from piccolo.columns import Array, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class LeadView(Table, db=DB, tablename="lead_view"):
    """Filters, order and columns of the list of leads, under a name."""

    declared = Declared(line="lead_view", refers="user_account", by_hand="erasure")
    id = Text(primary_key=True)
    workspace_id = Text()
    user_id = Text(null=True, default=None)  # null: everybody has it
    name = Text()  # empty: the columns that a person sees without a view
    query = Text()
    columns = Array(Text())
    created_at = Timestamptz()
