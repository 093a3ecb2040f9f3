"""Exports as /v1 shows them."""

from typing import Literal

from msgspec import Struct

from leadwire.infrastructure.errors import Conflict

Kind = Literal["leads", "conversations", "messages", "events"]
Format = Literal["ndjson", "csv"]
State = Literal["ready", "completed", "canceled", "expired"]


class TooManyExports(Conflict, code="too_many_exports"):
    """The workspace has as many exports that are neither completed nor canceled as it may have."""


class ExportCanceled(Conflict, code="export_canceled", detail="The export was canceled."):
    """The export was canceled."""


class ExportExpired(Conflict, code="export_expired", detail="The export has expired. Make another one."):
    """The export is older than 24 hours."""


class ExportRequest(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """What to export."""

    type: Kind
    """Which rows."""
    format: Format = "ndjson"
    """`ndjson`: a JSON document a line, exactly as in the lists. `csv`: for spreadsheets; a text that one would run
    begins with `'`."""
    filter: dict[str, str | int] = {}
    """Which of them, with the names and values of the list's query. `leads`: `bot_id score_min score_max since until
    updated_since updated_before`; `conversations` and `messages`: `bot_id status since until updated_since
    updated_before`, of the conversations; `events`: `types since`."""


class Export(Struct, frozen=True):
    """An export: what was asked for, and how far its downloads have come."""

    id: str
    """Starts with `exp_`."""
    type: Kind
    """Which rows."""
    format: Format
    """How they are written."""
    state: State
    """`ready` to be downloaded, `completed` once a download has come to the end, `canceled` or `expired`. What is
    completed can be downloaded again."""
    rows: int
    """Rows that were sent so far, by all downloads together."""
    resume_by: list[str]
    """To resume a download: the members of the last row that arrived whole, whose values make `after`, with a comma
    between them."""
    created_at: str
    """When it was made. What comes later is not in it."""
    expires_at: str
    """Until when it can be downloaded."""


class ExportedMessage(Struct, frozen=True):
    """A message of an export."""

    id: str
    """Starts with `msg_`."""
    conversation_id: str
    """The conversation it belongs to."""
    bot_id: str
    """The bot of that conversation."""
    role: Literal["bot", "user", "agent"]
    """Who sent it."""
    content: str
    """The text."""
    created_at: str
    """When it was sent."""
    seq: int
    """Its place in the conversation, from 1."""
    conversation_created_at: str
    """When the conversation began."""
