"""The lead as everybody meets it: /v1, webhooks and pages share one shape and one way to make it from a row."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from leadwire import clock

# No control characters, no bidirectional overrides: they break terminals, CSV files and readers' trust.
# The last look ahead is for Python, whose `$` also stands before a newline at the end.
_CLEAN: Final = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$(?!\n)"
_CLEAN_LINES: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*(?![\s\S])"

Name = Annotated[str, Meta(max_length=200, pattern=_CLEAN)]
Email = Annotated[str, Meta(max_length=254, pattern=_CLEAN, extra_json_schema={"format": "email"})]
Phone = Annotated[str, Meta(max_length=32, pattern=_CLEAN)]
Url = Annotated[str, Meta(max_length=2048, pattern=_CLEAN)]
Score = Annotated[int, Meta(ge=0, le=100)]
FieldKey = Annotated[str, Meta(min_length=1, max_length=64, pattern=_CLEAN)]
FieldValue = Annotated[str, Meta(max_length=1000, pattern=_CLEAN_LINES)] | int | float | bool
MAX_CUSTOM_FIELDS: Final = 50


class Source(Struct, frozen=True):
    """Where a visitor came from."""

    url: str | None = None
    campaign: str | None = None
    referrer: str | None = None


class Lead(Struct, frozen=True):
    """A lead. Every key is always present; what is not known is null."""

    id: str
    email: str | None
    name: str | None
    phone: str | None
    company: str | None
    score: int
    source: Source
    custom_fields: dict[str, FieldValue]  # a msgspec.Raw as it comes from the database: stored and forwarded unparsed
    conversation_id: str
    bot_id: str
    created_at: str


class StoredLead(Struct, frozen=True):
    """A lead and the version of its row, which is its ETag."""

    lead: Lead
    version: int


COLUMNS: Final = (
    "id, email, name, phone, company, score, source_url, source_campaign, source_referrer, custom_fields,"
    " conversation_id, bot_id, created_at"
)


def from_row(row: Any) -> Lead:
    """A lead from the columns of `COLUMNS`, in that order."""
    id_, email, name, phone, company, score, url, campaign, referrer, custom_fields, conversation_id, bot_id, at = row
    source = Source(url, campaign, referrer)
    return Lead(id_, email, name, phone, company, score, source, custom_fields, conversation_id, bot_id, clock.iso(at))


class LeadPatch(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A change of a lead: RFC 7396. Absent stays, null clears; `custom_fields` merges key by key."""

    name: Name | None | UnsetType = UNSET
    email: Email | None | UnsetType = UNSET
    phone: Phone | None | UnsetType = UNSET
    company: Name | None | UnsetType = UNSET
    score: Score | UnsetType = UNSET
    custom_fields: dict[FieldKey, FieldValue | None] | None | UnsetType = UNSET

    def applied_to(self, lead: Lead) -> Lead:
        """The lead as this patch leaves it."""
        given = {field: value for field in self.__struct_fields__ if (value := getattr(self, field)) is not UNSET}
        if "custom_fields" in given:
            given["custom_fields"] = _merged(custom_fields(lead), given["custom_fields"])
        return msgspec.structs.replace(lead, **given)


class LeadUpdated(Lead, frozen=True, kw_only=True):
    """What `lead.updated` carries: the lead as it is now, and the old value of each attribute that changed."""

    previous_attributes: dict[str, Any]


class LeadDeleted(Struct, frozen=True):
    """The answer to a deletion, and what `lead.deleted` carries."""

    id: str
    deleted: bool = True


def custom_fields(lead: Lead) -> dict[str, FieldValue]:
    """The custom fields, parsed if they still are the database's text."""
    fields = lead.custom_fields
    return msgspec.json.decode(fields) if isinstance(fields, msgspec.Raw) else fields


def changed(before: Lead, after: Lead) -> dict[str, Any]:
    """The attributes that differ, each with its old value; of `custom_fields`, the keys that differ."""
    old = {
        field: getattr(before, field)
        for field in ("email", "name", "phone", "company", "score")
        if getattr(before, field) != getattr(after, field)
    }
    was, now = custom_fields(before), custom_fields(after)
    # A key that is new was null.
    if differ := [key for key in {**was, **now} if (key in was) != (key in now) or not _same(was[key], now[key])]:
        old["custom_fields"] = {key: was.get(key) for key in differ}
    return old


def _same(was: FieldValue, now: FieldValue) -> bool:
    return type(was) is type(now) and was == now  # `1 == True` in Python, not in JSON


def _merged(was: dict[str, FieldValue], patch: dict[str, FieldValue | None] | None) -> dict[str, FieldValue]:
    if patch is None:
        return {}
    return {key: value for key, value in {**was, **patch}.items() if value is not None}
