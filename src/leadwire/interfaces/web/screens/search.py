"""Search: what visitors, bots and people have said, notes and leads."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import reads as bots
from leadwire.domain.search import query as words
from leadwire.domain.search import reads
from leadwire.interfaces.web.routes import PageContext, Values, screen

_OF_ALL: Final = 5  # of each kind, where all are shown
_OF_ONE: Final = 20


class _Wanted(Struct, frozen=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(max_length=200)] = ""
    kind: Literal["", "conversation", "note", "lead"] = ""
    after: Annotated[str, Meta(max_length=100)] = ""


@screen("/search", "search.html")
async def search(context: PageContext) -> Values:
    wanted = context.query_as(_Wanted)
    names = await bots.names(context.workspace)
    query = words.parse(wanted.q, names)
    may: list[words.Kind] = ["conversation", "note", "lead"] if context.may("agent") else ["conversation", "lead"]
    kinds = [kind for kind in may if kind in query.only and wanted.kind in ("", kind)] if query else []
    limit = _OF_ONE if wanted.kind else _OF_ALL
    pages = {kind: await reads.page(context.workspace, kind, query, wanted.after, limit) for kind in kinds}
    ids = {kind: page.items for kind, page in pages.items()}
    if query:
        context.note_read("search.listed", filters=wanted)
    return {
        "wanted": wanted,
        "query": query,
        "kinds": may,
        "found": pages,
        "conversations": await reads.conversations(context.workspace, ids.get("conversation", []), query.pattern),
        "notes": await reads.notes(context.workspace, ids.get("note", [])),
        "leads": await reads.leads(context.workspace, ids.get("lead", []), query.pattern),
        "people": {user.id: user.called for user in await accounts.users(context.workspace)} if ids.get("note") else {},
        "bots": names,
        "filters": words.FILTERS,
        "walked": reads.WALKED,
        "complete": not query or await reads.complete(),
    }
