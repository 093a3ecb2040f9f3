"""The table of bulk changes."""

from piccolo.columns import Array, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class BulkChange(Table, db=DB, tablename="bulk_change"):
    """A change of many leads, which are made one by one."""

    declared = Declared(
        line="bulk_change", imported=False, ends="state <> 'running' AND updated_at < now() - interval '30 days'"
    )
    id = Text(primary_key=True)
    workspace_id = Text()
    user_id = Text()
    kind = Text()
    field = Text()
    value = Text(null=True, default=None)  # null: the field is removed; empty once it has ended
    query = Text()
    ids = Array(Text(), null=True, default=None)
    seen_at = Timestamptz()
    state = Text()
    after = Text(default="")
    done = Integer(default=0)
    skipped = Integer(default=0)
    left_alone = Array(Text(), default=list)
    created_at = Timestamptz()
    updated_at = Timestamptz()
