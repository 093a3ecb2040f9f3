"""What lists of /v1 take that have pages by number alone: short ones, and those that only grow at their end."""

from typing import Annotated

from msgspec import Meta, Struct

Limit = Annotated[int, Meta(ge=1, le=100)]


class NumberedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a list of /v1 takes that has nothing but pages by number."""

    limit: Limit = 20
    """Results per page."""
    page: Annotated[int, Meta(ge=1, le=10**9)] = 1
    """Page number, from 1. A page past the last one is empty."""
