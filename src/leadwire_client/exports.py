"""`lw.exports`: all rows that match, in one download that is resumed where it breaks off."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal, TypedDict, TypeVar, Unpack, overload

import msgspec

from leadwire_client.call import Call, Lines, change_headers, path_to, single
from leadwire_client.connection import AsyncConnection, C, Connection, Resource, method
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
R = TypeVar("R", bound=Row)

_EXPORT: Final = single(Export[Any])
_told: Final = msgspec.json.Decoder(Told).decode
_ROWS: Final[dict[str, Callable[[bytes], Any]]] = {
    "leads": msgspec.json.Decoder(Lead).decode,
    "conversations": msgspec.json.Decoder(Conversation).decode,
    "messages": msgspec.json.Decoder(ExportedMessage).decode,
    "events": lambda line: event_of(_told(line)),
}
_overloaded: Final[Callable[[Any], Any]] = method  # whose type is that of its overloads


Kind = Literal["leads", "conversations", "messages", "events"]


class ExportOptions(TypedDict, total=False):
    """How to export, and which rows: `filter` has the filters of the list."""

    format: Literal["ndjson", "csv"]
    filter: Mapping[str, str | int] | None
    idempotency_key: str | None


class Exports(Resource[C]):
    """`lw.exports`."""

    @overload
    def create(
        self: "Exports[Connection]", type: Literal["leads"], **options: Unpack[ExportOptions]
    ) -> Export[Lead]: ...
    @overload
    def create(
        self: "Exports[Connection]", type: Literal["conversations"], **options: Unpack[ExportOptions]
    ) -> Export[Conversation]: ...
    @overload
    def create(
        self: "Exports[Connection]", type: Literal["messages"], **options: Unpack[ExportOptions]
    ) -> Export[ExportedMessage]: ...
    @overload
    def create(
        self: "Exports[Connection]", type: Literal["events"], **options: Unpack[ExportOptions]
    ) -> Export[Event]: ...
    @overload
    def create(
        self: "Exports[AsyncConnection]", type: Literal["leads"], **options: Unpack[ExportOptions]
    ) -> Coroutine[Any, Any, Export[Lead]]: ...
    @overload
    def create(
        self: "Exports[AsyncConnection]", type: Literal["conversations"], **options: Unpack[ExportOptions]
    ) -> Coroutine[Any, Any, Export[Conversation]]: ...
    @overload
    def create(
        self: "Exports[AsyncConnection]", type: Literal["messages"], **options: Unpack[ExportOptions]
    ) -> Coroutine[Any, Any, Export[ExportedMessage]]: ...
    @overload
    def create(
        self: "Exports[AsyncConnection]", type: Literal["events"], **options: Unpack[ExportOptions]
    ) -> Coroutine[Any, Any, Export[Event]]: ...
    @_overloaded
    def create(
        self,
        type: Kind,  # noqa: A002 - its name in the API
        *,
        format: Literal["ndjson", "csv"] = "ndjson",  # noqa: A002 - likewise
        filter: Mapping[str, str | int] | None = None,  # noqa: A002 - likewise
        idempotency_key: str | None = None,
    ) -> Call[Export[Any]]:
        """Make an export. `filter` has the filters of the list. Raises Invalid, Conflict when there are too many."""
        headers = {"Content-Type": "application/json", **change_headers(idempotency_key)}
        content = msgspec.json.encode({"type": type, "format": format, "filter": filter or {}})
        return Call(method="POST", path="/v1/exports", headers=headers, content=content, read=_EXPORT)

    @method
    def get(self, export_id: str) -> Call[Export[Any]]:
        """One export. Raises NotFound."""
        return Call(method="GET", path=path_to("exports", export_id), read=_EXPORT)

    @method
    def cancel(self, export_id: str, *, idempotency_key: str | None = None) -> Call[Export[Any]]:
        """Cancel an export; its downloads end. Raises NotFound."""
        headers = change_headers(idempotency_key)
        return Call(method="DELETE", path=path_to("exports", export_id), headers=headers, read=_EXPORT)

    @overload
    def rows(self: "Exports[Connection]", export: Export[R], *, after: R | None = None) -> Iterator[R]: ...
    @overload
    def rows(self: "Exports[AsyncConnection]", export: Export[R], *, after: R | None = None) -> AsyncIterator[R]: ...
    @_overloaded
    def rows(self, export: Export[R], *, after: R | None = None) -> Lines[R]:
        """The rows of an export as `ndjson`, as they arrive: those behind `after`, if it is given.

        A download that breaks off is resumed after the last row, as a call is sent again. Raises Conflict when the
        export was canceled or has expired; ValueError for one as `csv`.
        """
        if export.format != "ndjson":
            raise ValueError("only rows of an export as ndjson can be read here")
        return _Rows(export, after)


class _Rows(Lines[R]):
    def __init__(self, export: Export[R], after: R | None) -> None:
        self.path = path_to("exports", export.id, "/download")
        self._by, self._read = export.resume_by, _ROWS[export.type]
        self._last: bytes | None = None
        self._after = {} if after is None else self._place(msgspec.json.encode(after))

    @property
    def params(self) -> Mapping[str, str]:
        return self._after if self._last is None else self._place(self._last)

    def rows(self, lines: Iterable[bytes]) -> Iterator[R]:
        for line in lines:
            try:
                row = self._read(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise Unreadable(f"{self.method} {self.path}: {error}") from error
            self._last = line
            yield row

    def _place(self, line: bytes) -> dict[str, str]:
        row = msgspec.json.decode(line, type=dict[str, Any])
        return {"after": ",".join(str(row[name]) for name in self._by)}
