"""Everything of a workspace as NDJSON: a JSON document a line, `{"kind": ..., "data": {...}}`.

Kinds come one after the other, and rows in the order of their key, so the last line says where to go on. A page of rows
is all that is in memory. Secrets are left out: every column of bytes, and those named here. So is what is only ours:
sessions, visitors' tokens, stored responses, counts for plots.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import msgspec
from piccolo.columns import Column, Timestamptz
from piccolo.table import Table

from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.delivery.outbox import RecordedEvent
from leadwire.delivery.redrive import RedriveJob
from leadwire.delivery.table import Attempt, EveryDelivery
from leadwire.domain.accounts.domains.table import EmailDomain
from leadwire.domain.accounts.table import (
    ApiKey,
    AuditEntry,
    IdentityProvider,
    Invitation,
    UserAccount,
    UserIdentity,
    Workspace,
)
from leadwire.domain.bots.table import BlockedVisitor, Bot, BotVersion, Consent, FaqEntry, ScoreEntry
from leadwire.domain.bulk_changes.table import BulkChange
from leadwire.domain.conversations.table import Conversation, ConversationNote, Message, SavedReply
from leadwire.domain.leads.table import Lead
from leadwire.domain.listing.exported import Part, select, with_parts
from leadwire.domain.notices.table import NoticeAddress, NoticeChoice
from leadwire.domain.privacy.table import Retention
from leadwire.domain.views.table import LeadView
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import Statement
from leadwire.infrastructure.errors import Invalid

END: Final = "end"
"""The kind of the last line: a file without it is not complete."""
_PAGE: Final = 50  # rows, each with its children
_OF_BOTS: Final = "bot_id = ANY(ARRAY(SELECT id FROM bot WHERE workspace_id = :workspace))"
_TYPES: Final = {"Text": "text", "Timestamptz": "timestamptz", "Integer": "int"}
_FIRST: Final = {"text": "", "timestamptz": clock.parse("1970-01-01"), "int": -1}


class _Kind(NamedTuple):
    """A kind of line: its rows are read by `key`, behind which there is an index."""

    name: str
    table: type[Table]
    key: tuple[str, ...] = ("id",)
    where: str = "workspace_id = :workspace"
    children: tuple[Part, ...] = ()

    def statement(self) -> Statement:
        """A page of the rows after a place."""
        key = ", ".join(self.key)
        places = ", ".join(f":after_{column}::{_type(self.table, column)}" for column in self.key)
        return select(self.table, f"{self.where} AND ({key}) > ({places})", f"{key} LIMIT {_PAGE}")


KINDS: Final = (
    _Kind("workspace", Workspace, where="id = :workspace"),
    _Kind("user", UserAccount),
    _Kind("notice_choice", NoticeChoice, ("user_id",)),
    _Kind("notice_address", NoticeAddress),
    _Kind("invitation", Invitation),
    _Kind("identity_provider", IdentityProvider),
    _Kind("email_domain", EmailDomain),
    _Kind("user_identity", UserIdentity),
    _Kind("api_key", ApiKey),
    _Kind("audit_entry", AuditEntry),
    _Kind("bot", Bot),
    _Kind("bot_version", BotVersion, ("bot_id", "version"), _OF_BOTS),
    _Kind("faq_entry", FaqEntry, ("bot_id", "created_at", "id"), f"workspace_id = :workspace AND {_OF_BOTS}"),
    _Kind("saved_reply", SavedReply),
    _Kind("blocked_visitor", BlockedVisitor, ("created_at", "conversation_id")),
    _Kind("endpoint", WebhookEndpoint),
    _Kind("redrive", RedriveJob),
    _Kind("retention", Retention, ("kind",)),
    _Kind("lead_view", LeadView),
    _Kind("bulk_change", BulkChange),
    _Kind("lead", Lead, ("created_at", "id")),
    _Kind(
        "conversation",
        Conversation,
        ("created_at", "id"),
        children=(
            Part("messages", Message, "conversation_id, seq"),
            Part("notes", ConversationNote, "conversation_id, created_at, id"),
            Part("scores", ScoreEntry, "conversation_id, created_at, node, label"),
        ),
    ),
    _Kind("consent", Consent),
    _Kind(
        "event",
        RecordedEvent,
        children=(
            Part("deliveries", EveryDelivery, "event_id, endpoint_id"),
            Part("attempts", Attempt, "event_id, started_at, endpoint_id"),
        ),
    ),
)
"""Every kind of line, in the order of the file."""


async def lines(workspace: str, last: bytes = b"") -> AsyncIterator[bytes]:
    """Yield the lines after `last`, some at a time; from the beginning when it is empty. Raise Invalid."""
    begun, place = place_after(last)
    for kind in KINDS[begun:]:
        values = {column: _FIRST[_type(kind.table, column)] for column in kind.key} | place
        place = {}
        while rows := await _PAGES[kind.name].rows(
            workspace=workspace, **{f"after_{name}": value for name, value in values.items()}
        ):
            yield b"".join(line(kind.name, data) for data in await with_parts(rows, kind.children))
            values = {column: rows[-1][column] for column in kind.key}
    yield line(END, {"at": clock.iso(clock.now())})


def place_after(last: bytes) -> tuple[int, dict[str, Any]]:
    """With which kind to go on after a line, and after which row of it. Raise Invalid when it is none."""
    if not last:
        return 0, {}
    wrong = Invalid("This is no line of an export. Choose another file.")
    try:
        line = msgspec.json.decode(last, type=dict[str, Any])
        begun = next((place for place, kind in enumerate(KINDS) if kind.name == line["kind"]), None)
        if begun is None:
            raise wrong
        kind = KINDS[begun]
        return begun, {column: _value(kind.table, column, line["data"][column]) for column in kind.key}
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise wrong from error


def line(kind: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, "data": data}) + b"\n"


def _column(table: type[Table], name: str) -> Column:
    return table._meta.get_column_by_name(name)


def _type(table: type[Table], name: str) -> str:
    return _TYPES[type(_column(table, name)).__name__]


def _value(table: type[Table], name: str, text: Any) -> Any:
    """A value of a key, as it was in a line. Raise ValueError, TypeError."""
    if isinstance(_column(table, name), Timestamptz):
        return clock.parse(text)
    if type(text) is not type(_FIRST[_type(table, name)]):
        raise TypeError(name)
    return text


_PAGES: Final = {kind.name: kind.statement() for kind in KINDS}
