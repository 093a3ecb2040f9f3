"""Saving and removing views, and choosing columns."""

from typing import Final
from urllib.parse import parse_qsl

from leadwire.domain.accounts import quotas
from leadwire.domain.views.table import LeadView
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import columns, insert, sql
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

MOST_COLUMNS: Final = 6
_MOST_VIEWS: Final = 50  # of a person, and of everybody together
_LONGEST_NAME: Final = 60

# The columns of a person are kept under no name.
_CHOOSE: Final = sql("""
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
VALUES (:id, :workspace, :user_id, '', '', :columns, :now)
ON CONFLICT (workspace_id, coalesce(user_id, ''), lower(name)) DO UPDATE SET columns = excluded.columns""")
_SAVE: Final = insert(*columns(LeadView, "id workspace_id user_id name query columns created_at"))
_COUNT: Final = sql("""
SELECT count(*) FROM lead_view WHERE workspace_id = :workspace AND user_id IS NOT DISTINCT FROM :user_id""")
_REMOVE: Final = sql("""
DELETE FROM lead_view WHERE workspace_id = :workspace AND id = :id
  AND (user_id = :user_id OR (user_id IS NULL AND :shared)) RETURNING name""")
_QUERIES: Final = sql("SELECT id, query FROM lead_view WHERE workspace_id = :workspace AND query <> ''")
_ERASE: Final = sql("DELETE FROM lead_view WHERE workspace_id = :workspace AND id = ANY(:ids::text[])")


async def choose_columns(workspace: str, user_id: str, columns: list[str]) -> None:
    """Remember which custom fields a person sees. Raise Invalid."""
    columns = _columns(columns)
    await _CHOOSE.rows(id=ids.new("view"), workspace=workspace, user_id=user_id, columns=columns, now=clock.now())


async def save(workspace: str, user_id: str, name: str, query: str, chosen: list[str], *, shared: bool = False) -> str:
    """Save a view for a person, or `shared` for everybody. Return its id. Raise Invalid, Conflict."""
    name = name.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        error = FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters.", "/name")
        raise Invalid("A view needs a name.", errors=(error,))
    view_id, owner, now = ids.new("view"), None if shared else user_id, clock.now()
    values = {"name": name, "query": query, "columns": _columns(chosen), "created_at": now}
    full = Conflict(f"There are {_MOST_VIEWS} views already: remove one first.", code="too_many")
    try:
        async with db.transaction():
            await _SAVE.rows(id=view_id, workspace_id=workspace, user_id=owner, **values)
            await quotas.at_most(workspace, _MOST_VIEWS, full, _COUNT, user_id=owner)
    except db.UniqueViolation as error:
        raise Conflict(f"There is a view called {name} already.", code="name_taken") from error
    return view_id


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
