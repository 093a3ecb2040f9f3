"""Saving and removing views, and choosing columns."""

from typing import Final
from urllib.parse import parse_qsl

from leadwire.domain.accounts import quotas
from leadwire.domain.views.table import LeadView
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, insert, named
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid
from leadwire.infrastructure.unseen import UNSEEN, is_name

MOST_COLUMNS: Final = 6
_MOST_VIEWS: Final = 50  # of a person, and of everybody together
_LONGEST_NAME: Final = 60

_SAVE: Final = insert(*columns(LeadView, "id workspace_id user_id name query columns created_at"))
_CHOOSE, _COUNT = named(__file__, "choose count")


async def choose_columns(workspace: str, user_id: str, columns: list[str]) -> None:
    """Remember which custom fields a person sees. Raise Invalid."""
    columns = _columns(columns)
    await _CHOOSE.rows(id=ids.new("view"), workspace=workspace, user_id=user_id, columns=columns, now=clock.now())


async def save(workspace: str, user_id: str, name: str, query: str, chosen: list[str], *, shared: bool = False) -> str:
    """Save a view for a person, or `shared` for everybody. Return its id. Raise Invalid, Conflict."""
    name = name.strip()
    if not is_name(name, _LONGEST_NAME):
        error = FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters, on one line.", "/name")
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


@query("There is no such view.")
async def remove(workspace: str, user_id: str, view_id: str, *, shared: bool) -> str:
    """Remove a view of this person, or with `shared` one of everybody. Return its name. Raise NotFound."""


async def erase(workspace: str, *addresses: str | None) -> None:
    """Remove the views that filter for exactly one of a person's addresses or numbers, in any case."""
    texts = {address.casefold() for address in addresses if address}
    filters = (LeadView.workspace_id == workspace, LeadView.query != "")
    rows = await LeadView.select(LeadView.id, LeadView.query).where(*filters)
    views = [row["id"] for row in rows if texts & {value.casefold() for _, value in parse_qsl(row["query"])}]
    if views:
        await LeadView.delete().where(LeadView.workspace_id == workspace, LeadView.id.is_in(views))


def _columns(columns: list[str]) -> list[str]:
    chosen = list(dict.fromkeys(column.strip() for column in columns if column.strip()))
    if len(chosen) > MOST_COLUMNS or any(len(column) > 64 or UNSEEN.search(column) for column in chosen):
        raise Invalid(f"At most {MOST_COLUMNS} columns, each the name of a custom field.")
    return chosen
