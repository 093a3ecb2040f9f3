"""What people say to visitors again and again, to be picked in the inbox. `{{name}}` becomes the visitor's."""

from typing import Final

from msgspec import Struct

from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

_MOST: Final = 100  # in a workspace
_LONGEST_NAME: Final = 60
_LONGEST: Final = 4000


class SavedReply(Struct, frozen=True):
    """One of them. `name` is how people find it."""

    id: str
    name: str
    content: str


async def listed(workspace: str) -> list[SavedReply]:
    """All of a workspace, by name."""
    found = await db.rows(
        "SELECT id, name, content FROM saved_reply WHERE workspace_id = $1 ORDER BY lower(name), id", workspace
    )
    return [SavedReply(*row) for row in found]


async def add(workspace: str, name: str, content: str) -> str:
    """Another one. Answers its id. Raises Invalid; Conflict when the name is taken or there are 100."""
    name, content = name.strip(), content.replace("\r\n", "\n").strip()
    faults = []
    if not 1 <= len(name) <= _LONGEST_NAME:
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters.", "/name"))
    if not 1 <= len(content) <= _LONGEST or "\0" in content:
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST} characters.", "/content"))
    if faults:
        raise Invalid("This cannot be saved.", faults=tuple(faults))
    try:
        made = await db.value(
            """INSERT INTO saved_reply (id, workspace_id, name, content, created_at) SELECT $2, $1, $3, $4, $5
               WHERE (SELECT count(*) FROM saved_reply WHERE workspace_id = $1) < $6 RETURNING id""",
            workspace, ids.new("reply"), name, content, clock.now(), _MOST,
        )  # fmt: skip
    except db.UniqueViolation as error:
        raise Conflict(f"There is a reply called {name} already.", code="name_taken") from error
    if made is None:
        raise Conflict(f"There are {_MOST} already: remove one first.", code="too_many")
    return str(made)


async def remove(workspace: str, reply_id: str) -> str:
    """One less. Answers its name. Raises NotFound."""
    name: str | None = await db.value(
        "DELETE FROM saved_reply WHERE workspace_id = $1 AND id = $2 RETURNING name", workspace, reply_id
    )
    if name is None:
        raise NotFound("There is no such reply.")
    return name


def filled(content: str, name: str | None) -> str:
    """The text for a visitor called `name`; without one, `{{name}}` and the space or comma before it go."""
    if name:
        return content.replace("{{name}}", name)
    return content.replace(", {{name}}", "").replace(" {{name}}", "").replace("{{name}}", "")
