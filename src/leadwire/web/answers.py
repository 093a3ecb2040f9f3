"""The two halves every list handler shares: its query in, its page out."""

from typing import Any, TypeVar

from litestar import Request, Response

from leadwire.web import paging
from leadwire.web import query as queries
from leadwire.web.envelopes import Page, PageMeta

T = TypeVar("T")
Q = TypeVar("Q", bound=paging.PageQuery)


def query(request: "Request[Any, Any, Any]", model: type[Q]) -> tuple[list[tuple[str, str]], Q]:
    """The query as sent and as understood. Raises InvalidParameter."""
    pairs = queries.pairs_of(request.scope["query_string"])
    return pairs, queries.parse(pairs, model)


def page(
    request: "Request[Any, Any, Any]",
    pairs: list[tuple[str, str]],
    asked: paging.PageQuery,
    data: list[T],
    total: int,
) -> Response[Page[T]]:
    """A page in its envelope, with the links that lead on."""
    return Response(
        Page(data, PageMeta(total, asked.page, asked.limit)),
        headers={"Link": paging.links(request.scope["path"], pairs, asked, total)},
    )
