"""The table of domains."""

from piccolo.columns import Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class EmailDomain(Table, db=DB, tablename="email_domain"):
    """A domain that a workspace has proven or wants to prove. One workspace has it proven at a time."""

    id = Text(primary_key=True)
    workspace_id = Text()
    domain = Text()  # in lower case, ASCII
    code = Text()  # of its record; the database makes it
    created_at = Timestamptz()
    proven_at = Timestamptz(null=True, default=None)
    missing_since = Timestamptz(null=True, default=None)  # of a proven one: when its record was missed first
    taken_over_until = Timestamptz(null=True, default=None)  # a provider relied on it before proofs were asked for
    checked_at = Timestamptz(null=True, default=None)
    fault = Text()  # of the last check; empty: none
    check_at = Timestamptz(default=None)  # the next time
