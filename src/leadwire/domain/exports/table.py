"""The table of exports."""

from piccolo.columns import BigInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class ExportJob(Table, db=DB, tablename="export_job"):
    """What was asked for. Nobody is named in it: an export cannot be filtered by a person."""

    declared = Declared(ends="created_at < now() - interval '7 days'")  # until then it is said to have expired
    id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    format = Text()
    query = Text()  # the filters, as in the query of a list
    sent = BigInt(default=0)  # rows, by all downloads together
    created_at = Timestamptz()
    expires_at = Timestamptz()
    completed_at = Timestamptz(null=True, default=None)
    canceled_at = Timestamptz(null=True, default=None)
