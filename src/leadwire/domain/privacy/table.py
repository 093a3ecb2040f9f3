"""How long a workspace keeps what."""

from piccolo.columns import Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class Retention(Table, db=DB, tablename="retention"):
    """The days that a workspace keeps one kind of data. Without a row, it is kept."""

    declared = Declared(line="retention", key="kind")
    workspace_id = Text(primary_key=True)  # with kind
    kind = Text()
    days = Integer()
    after_time = Timestamptz()  # how far the sweep has come; of leads, in the present round
    after_id = Text(default="")  # of events: where the present round has left the first
    removed = Integer(default=0)  # in the present round
    swept_at = Timestamptz(null=True, default=None)  # when the last round ended; null: the setting is new
