"""The table of the ledger's check."""

from piccolo.columns import Boolean, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class LedgerCheck(Table, db=DB, tablename="ledger_check"):
    """The last full check: one row at most."""

    declared = Declared(of="")
    alone = Boolean(primary_key=True)
    asked_at = Timestamptz()
    checked_at = Timestamptz(null=True, default=None)  # when the last check began
    result = Text(null=True, default=None)  # JSON: `ledger.Result`
