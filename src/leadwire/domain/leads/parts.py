"""A lead's part in a statement that changes more than the lead: SQL `name AS (...)`, which selects from `changed`.

The values have the names of the columns; `lead` is its id.
"""

from typing import Final

_FIELDS: Final = ("email", "name", "phone", "company", "score", "custom_fields")
ADD: Final = f"""person AS (
    INSERT INTO lead (workspace_id, id, bot_id, conversation_id, source_url, source_campaign, source_referrer,
        created_at, updated_at, {", ".join(_FIELDS)})
    SELECT :workspace, :lead, :bot_id, changed.id, :source_url, :source_campaign, :source_referrer, :updated_at,
        :updated_at, {", ".join(f":{one}" for one in _FIELDS)} FROM changed
)"""
CHANGE: Final = f"""person AS (
    UPDATE lead SET {", ".join(f"{one} = :{one}" for one in _FIELDS)}, updated_at = :updated_at, version = version + 1
    FROM changed WHERE lead.id = :lead
)"""
