"""Add and remove saved replies."""

from typing import Final

from leadwire.domain.conversations.table import SavedReply
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

_MOST: Final = 100  # in a workspace
_LONGEST_NAME: Final = 60
_LONGEST: Final = 4000

# Adds a reply unless the workspace has as many as it may.
_ADD: Final = sql("""
INSERT INTO saved_reply (id, workspace_id, name, content, created_at) SELECT :id, :workspace, :name, :content, :now
WHERE (SELECT count(*) FROM saved_reply WHERE workspace_id = :workspace) < :most RETURNING id""")
_ONE: Final = (SavedReply.workspace_id == param("workspace"), SavedReply.id == param("id"))
_REMOVE: Final = statement(SavedReply.delete().where(*_ONE).returning(SavedReply.name))


async def add(workspace: str, name: str, content: str) -> str:
    """Add a reply. Return its id. Raise Invalid; Conflict when the name is taken or there are 100."""
    name, content = name.strip(), content.replace("\r\n", "\n").strip()
    faults = []
    if not 1 <= len(name) <= _LONGEST_NAME:
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters.", "/name"))
    if not 1 <= len(content) <= _LONGEST or "\0" in content:
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST} characters.", "/content"))
    if faults:
        raise Invalid("This cannot be saved.", errors=tuple(faults))
    values = {"id": ids.new("reply"), "workspace": workspace, "name": name, "content": content, "now": clock.now()}
    try:
        reply_id = await _ADD.value(**values, most=_MOST)
    except db.UniqueViolation as error:
        raise Conflict(f"There is a reply called {name} already.", code="name_taken") from error
    if reply_id is None:
        raise Conflict(f"There are {_MOST} already: remove one first.", code="too_many")
    return str(reply_id)


async def remove(workspace: str, reply_id: str) -> str:
    """Remove a reply. Return its name. Raise NotFound."""
    return str((await _REMOVE.one(NotFound("There is no such reply."), workspace=workspace, id=reply_id))["name"])
