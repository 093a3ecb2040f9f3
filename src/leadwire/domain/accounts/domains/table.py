"""The table of domains."""

from typing import Final

from piccolo.columns import Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared

_PROVEN_THERE: Final = """EXISTS (SELECT 1 FROM email_domain d
    WHERE d.domain = json_populate_recordset.domain AND d.proven_at IS NOT NULL)"""


class EmailDomain(Table, db=DB, tablename="email_domain"):
    """A domain that a workspace has proven or wants to prove. One workspace has it proven at a time."""

    declared = Declared(
        # Proven anew, by another record: whoever wrote an export may name any.
        line="email_domain", anew="code proven_at missing_since taken_over_until checked_at fault check_at",
        # Not proven to the other installation: it counts until it should be, unless somebody there has proven it.
        moved={
            "proven_at": "NULL",
            "missing_since": "NULL",
            "check_at": "now()",
            "taken_over_until": f"""CASE WHEN {_PROVEN_THERE} THEN NULL
                WHEN proven_at IS NULL THEN taken_over_until ELSE now() + interval '7 days' END""",
        },
    )  # fmt: skip
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
