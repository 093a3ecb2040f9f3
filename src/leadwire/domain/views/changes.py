"""Saving and removing views, and choosing columns."""

from typing import Final
from urllib.parse import parse_qsl

from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

MOST_COLUMNS: Final = 6
_MOST_VIEWS: Final = 50  # of a person, and of everybody together
_LONGEST_NAME: Final = 60

# The columns of a person are kept under no name.
_CHOOSE: Final = sql("""
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
VALUES (:id, :workspace, :user_id, '', '', :columns, :now)
ON CONFLICT (workspace_id, coalesce(user_id, ''), lower(name)) DO UPDATE SET columns = excluded.columns""")
# Adds a view unless there are as many as there may be.
_SAVE: Final = sql("""
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
SELECT :id, :workspace, :user_id, :name, :query, :columns, :now
WHERE (SELECT count(*) FROM lead_view WHERE workspace_id = :workspace AND user_id IS NOT DISTINCT FROM :user_id) < :most
RETURNING id""")
_REMOVE: Final = sql("""
DELETE FROM lead_view WHERE workspace_id = :workspace AND id = :id
  AND (user_id = :user_id OR (user_id IS NULL AND :shared)) RETURNING name""")
_QUERIES: Final = sql("SELECT id, query FROM lead_view WHERE workspace_id = :workspace AND query <> ''")
_ERASE: Final = sql("DELETE FROM lead_view WHERE workspace_id = :workspace AND id = ANY(:ids::text[])")


async def choose_columns(workspace: str, user_id: str, columns: list[str]) -> None:
    """Remember which custom fields a person sees. Raise Invalid."""
    columns = _columns(columns)
    await _CHOOSE.rows(id=ids.new("view"), workspace=workspace, user_id=user_id, columns=columns, now=clock.now())


async def save(workspace: str, user_id: str, name: str, query: str, columns: list[str], *, shared: bool = False) -> str:
    """Save a view for a person, or `shared` for everybody. Return its id. Raise Invalid, Conflict."""
    name = name.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        error = FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters.", "/name")
        raise Invalid("A view needs a name.", errors=(error,))
    values = {"workspace": workspace, "user_id": None if shared else user_id, "name": name, "query": query}
    try:
        saved: str | None = await _SAVE.value(
            id=ids.new("view"), columns=_columns(columns), now=clock.now(), most=_MOST_VIEWS, **values
        )
    except db.UniqueViolation as error:
        raise Conflict(f"There is a view called {name} already.", code="name_taken") from error
    if saved is None:
        raise Conflict(f"There are {_MOST_VIEWS} views already: remove one first.", code="too_many")
    return saved


async def remove(workspace: str, user_id: str, view_id: str, *, shared: bool) -> str:
    """Remove a view of this person, or with `shared` one of everybody. Return its name. Raise NotFound."""
    missing = NotFound("There is no such view.")
    return str((await _REMOVE.one(missing, workspace=workspace, id=view_id, user_id=user_id, shared=shared))["name"])


async def erase(workspace: str, *addresses: str | None) -> None:
    """Remove the views that filter for exactly one of a person's addresses or numbers, in any case."""
    texts = {address.casefold() for address in addresses if address}
    rows = await _QUERIES.rows(workspace=workspace)
    named = [id_ for id_, query in rows if texts & {value.casefold() for _, value in parse_qsl(query)}]
    await _ERASE.rows(workspace=workspace, ids=named)


def _columns(columns: list[str]) -> list[str]:
    chosen = list(dict.fromkeys(column.strip() for column in columns if column.strip()))
    if len(chosen) > MOST_COLUMNS or any(len(column) > 64 or not column.isprintable() for column in chosen):
        raise Invalid(f"At most {MOST_COLUMNS} columns, each the name of a custom field.")
    return chosen
