"""A lead's part in a statement that changes more than the lead: SQL `name AS (...)`, which selects from `changed`.

The values have the names of the columns; `lead` is its id.
"""

from leadwire.infrastructure.db.statements import parts

_PARTS = parts(__file__)
ADD, CHANGE = _PARTS["add"], _PARTS["change"]
