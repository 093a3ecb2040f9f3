"""Who makes the changes of this task: a person's id, an API key's, or `visitor`. None: Leadwire itself."""

from contextvars import ContextVar
from typing import Final

current: Final[ContextVar[str | None]] = ContextVar("actor", default=None)
VISITOR: Final = "visitor"
