"""`lw.exports`: all rows that match, in one download that is resumed where it breaks off."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from leadwire_client.call import Call, Lines, change_headers, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.errors import Unreadable
from leadwire_client.events import Event, Told, event_of
from leadwire_client.types import Conversation, Export, Lead, Message


class ExportedMessage(Message, frozen=True, kw_only=True):
    """A message of an export. `seq` is its place in its conversation."""

    conversation_id: str
    bot_id: str
    seq: int
    conversation_created_at: datetime


Row = Lead | Conversation | ExportedMessage | Event

_EXPORT: Final = single(Export)
_ROWS: Final[dict[str, Any]] = {
    kind: msgspec.json.Decoder(row).decode
    for kind, row in {
        "leads": Lead, "conversations": Conversation, "messages": ExportedMessage, "events": Told,
    }.items()
}  # fmt: skip


class Exports(Resource[C]):
    """`lw.exports`."""

    @method
    def create(
        self,
        type: Literal["leads", "conversations", "messages", "events"],  # noqa: A002 - its name in the API
        *,
        format: Literal["ndjson", "csv"] = "ndjson",  # noqa: A002 - likewise
        filter: Mapping[str, str | int] | None = None,  # noqa: A002 - likewise
        idempotency_key: str | None = None,
    ) -> Call[Export]:
        """Make an export. `filter` has the filters of the list. Raises Invalid, Conflict when there are too many."""
        headers = {"Content-Type": "application/json", **change_headers(idempotency_key)}
        content = msgspec.json.encode({"type": type, "format": format, "filter": filter or {}})
        return Call(method="POST", path="/v1/exports", headers=headers, content=content, read=_EXPORT)

    @method
    def get(self, export_id: str) -> Call[Export]:
        """One export. Raises NotFound."""
        return Call(method="GET", path=path_to("exports", export_id), read=_EXPORT)

    @method
    def cancel(self, export_id: str, *, idempotency_key: str | None = None) -> Call[Export]:
        """Cancel an export; its downloads end. Raises NotFound."""
        headers = change_headers(idempotency_key)
        return Call(method="DELETE", path=path_to("exports", export_id), headers=headers, read=_EXPORT)

    @method
    def rows(self, export: Export, *, after: Row | None = None) -> Lines[Row]:
        """The rows of an export as `ndjson`, as they arrive: those behind `after`, if it is given.

        A download that breaks off is resumed after the last row, as a call is sent again. Raises Conflict when the
        export was canceled or has expired; ValueError for one as `csv`.
        """
        if export.format != "ndjson":
            raise ValueError("only rows of an export as ndjson can be read here")
        return _Rows(export, after)


class _Rows(Lines[Row]):
    def __init__(self, export: Export, after: Row | None) -> None:
        self.path = path_to("exports", export.id, "/download")
        self._by, self._read = export.resume_by, _ROWS[export.type]
        self._last: bytes | None = None
        self._after = {} if after is None else self._place(msgspec.json.encode(after))

    @property
    def params(self) -> Mapping[str, str]:
        return self._after if self._last is None else self._place(self._last)

    def rows(self, lines: Iterable[bytes]) -> Iterator[Row]:
        for line in lines:
            try:
                row = self._read(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise Unreadable(f"{self.method} {self.path}: {error}") from error
            self._last = line
            yield event_of(row) if isinstance(row, Told) else row

    def _place(self, line: bytes) -> dict[str, str]:
        row = msgspec.json.decode(line, type=dict[str, Any])
        return {"after": ",".join(str(row[name]) for name in self._by)}
