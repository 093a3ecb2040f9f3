"""Who was removed from a team. People, and what else is of their accounts, are in the table.py of the package above."""

from piccolo.columns import Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared


class RemovedPerson(Table, db=DB, tablename="removed_person"):
    """Whose account an admin has removed, until they have one again. A provider lets them in by an invitation only."""

    declared = Declared(line="removed_person", key="email")
    workspace_id = Text(primary_key=True)  # with email
    email = Text()  # in lower case
    removed_at = Timestamptz()
