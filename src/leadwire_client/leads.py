"""`lw.leads`."""

import json
from collections.abc import Mapping
from typing import Any, Final, TypedDict, Unpack

import msgspec

from leadwire_client.call import Call, change_headers, page, params, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.http_client import httpx
from leadwire_client.types import CustomValue, Lead, LeadDeleted, Page
from leadwire_client.walk import Filters, Walk

_PAGE: Final = page(Lead)
_SINGLE: Final = single(Lead)
_DELETED: Final = single(LeadDeleted)


class LeadFilters(Filters, total=False):
    """Which leads. Scores are inclusive; `sort` may also be `score`."""

    score_min: int | None
    score_max: int | None
    email: str | None


class LeadChanges(TypedDict, total=False):
    """What to change: absent stays, None clears, `custom_fields` merges key by key."""

    name: str | None
    email: str | None
    phone: str | None
    company: str | None
    score: int
    custom_fields: Mapping[str, CustomValue | None] | None


class Leads(Resource[C]):
    """`lw.leads`."""

    @method
    def list(self, *, limit: int | None = None, **filters: Unpack[LeadFilters]) -> Walk[Lead]:
        """Every lead that matches, newest first or by `sort`, asked for page by page as you go. Raises Invalid.

        `limit` is the leads of a page, 1 to 100 (100 by default), and no limit of the whole.

        Promised: a lead that is there and matches from beginning to end comes exactly once, whatever arrives, is
        changed or deleted meanwhile. Leads that arrive during the walk do not come; ask for them with `since`. In the
        order of `updated_at` a lead that is changed meanwhile comes once more, as it is then; in other orders that a
        change moves it in, it may not come. 24 hours may pass between two pages.
        """
        return Walk(_page, filters, limit=limit)

    @method
    def page(
        self,
        *,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[LeadFilters],
    ) -> Call[Page[Lead]]:
        """One page. `limit` is 1 to 100 (20 by default), `page` counts from 1. Raises Invalid.

        By cursor: `cursor="first"`, then `next_cursor` of the page before, with the same filters.
        """
        return _page(limit=limit, page=page, cursor=cursor, **filters)

    @method
    def get(self, lead_id: str) -> Call[Lead]:
        """One lead, with its `etag`. Raises NotFound."""
        return Call(method="GET", path=path_to("leads", lead_id), read=_tagged)

    @method
    def update(
        self,
        lead_id: str,
        *,
        if_match: Lead | None = None,
        idempotency_key: str | None = None,
        **changes: Unpack[LeadChanges],
    ) -> Call[Lead]:
        """Change a lead; answers it as it is now. `if_match=lead` refuses to overwrite what you have not seen.

        Raises NotFound, Invalid, Conflict (the e-mail address is another lead's), PreconditionFailed; ValueError for a
        NaN or an infinity: JSON has none, and null in its place would clear the field.
        """
        headers = {"Content-Type": "application/json", **change_headers(idempotency_key, if_match)}
        content = json.dumps(msgspec.to_builtins(changes), allow_nan=False).encode()
        return Call(method="PATCH", path=path_to("leads", lead_id), headers=headers, content=content, read=_tagged)

    @method
    def delete(
        self, lead_id: str, *, if_match: Lead | None = None, idempotency_key: str | None = None
    ) -> Call[LeadDeleted]:
        """Delete a lead for good, with every trace of the person. Raises NotFound, PreconditionFailed."""
        headers = change_headers(idempotency_key, if_match)
        return Call(method="DELETE", path=path_to("leads", lead_id), headers=headers, read=_DELETED)


def _page(**query: Any) -> Call[Page[Lead]]:
    return Call(method="GET", path="/v1/leads", params=params(**query), read=_PAGE)


def _tagged(answer: httpx.Response) -> Lead:
    return msgspec.structs.replace(_SINGLE(answer), etag=answer.headers.get("etag"))
