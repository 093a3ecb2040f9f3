"""The table of jobs. A row is deleted when its job is done, so what is there is what is still to be done."""

from piccolo.columns import Boolean, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class Job(Table, db=DB, tablename="job"):
    """One piece of work, once for each (kind, key). `queue.sql` has every statement that changes it."""

    declared = Declared(
        late="true", stays=True, fenced=False, by_hand="deletion",
        moved={"owner": "NULL", "again": "false", "due_at": "CASE WHEN owner IS NULL THEN due_at ELSE now() END"},
    )  # fmt: skip
    kind = Text(primary_key=True)
    key = Text()  # the id of what it is about; empty: the kind has one job only
    workspace_id = Text()  # whose turn it takes; empty: the installation's
    due_at = Timestamptz()  # while it is being done: until when no other process may
    since = Timestamptz()  # when it was due first: its age
    owner = Text(null=True, default=None)  # the process that is doing it
    again = Boolean(default=False)  # it was added while it was being done
    tries = SmallInt(default=0)  # that failed, one after the other
    place = Text(default="")  # where it goes on
    error = Text(null=True, default=None)  # of the last try
    failed_at = Timestamptz(null=True, default=None)  # when it was given up, until an operator lets it be tried again
