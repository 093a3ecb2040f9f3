"""The lead, in the one shape that /v1, webhooks and the web area share."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from leadwire.infrastructure import clock

# No control characters, no bidirectional overrides: they break terminals, CSV files and readers' trust.
# `\Z` because Python's `$` also stands before a newline at the end.
_CLEAN: Final = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z"
_CLEAN_LINES: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z"

Name = Annotated[str, Meta(max_length=200, pattern=_CLEAN)]
Email = Annotated[str, Meta(max_length=254, pattern=_CLEAN, extra_json_schema={"format": "email"})]
Phone = Annotated[str, Meta(max_length=32, pattern=_CLEAN)]
Score = Annotated[int, Meta(ge=0, le=100)]
FieldKey = Annotated[str, Meta(min_length=1, max_length=64, pattern=_CLEAN)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
FieldValue = Annotated[str, Meta(max_length=1000, pattern=_CLEAN_LINES)] | Integer | float | bool
MAX_CUSTOM_FIELDS: Final = 50
MAX_CUSTOM_BYTES: Final = 12_288
"""Of one lead's custom fields as compact JSON. A webhook holds them up to three times: as they are, as they were, and
the new names once more. This keeps the largest webhook below `settings.LARGEST_WEBHOOK`.
"""


class Source(Struct, frozen=True):
    """Where a visitor came from."""

    url: str | None = None
    """The page they were on: a path or a whole URL."""
    campaign: str | None = None
    """The campaign that the page's address named (`utm_campaign`)."""
    referrer: str | None = None
    """The page that led there."""

    def columns(self) -> dict[str, str | None]:
        """Return the values of the columns `source_url`, `source_campaign` and `source_referrer`."""
        return {f"source_{name}": value for name, value in structs.asdict(self).items()}


class Lead(Struct, frozen=True):
    """A lead. Every key is always present; what is not known is null."""

    id: str
    """Starts with `lead_`."""
    email: str | None
    """E-mail address, the domain in lower case. One bot has no two leads with the same."""
    name: str | None
    """Name of the person."""
    phone: str | None
    """Phone number: E.164, like `+442079460000`, where it could be read as one; else as it was typed."""
    company: str | None
    """Name of the company."""
    score: int
    """0 to 100: how promising the lead is."""
    source: Source
    """Where the visitor came from."""
    custom_fields: dict[str, FieldValue]  # a msgspec.Raw as it comes from the database: stored and forwarded unparsed
    """Whatever else is known, by names that you or your bots chose. Bots write strings; what the API was given comes
    back as it was: a string, a number or a boolean."""
    conversation_id: str
    """The conversation that produced the lead."""
    bot_id: str
    """The bot that held that conversation."""
    created_at: str
    """When the lead was captured."""
    updated_at: str
    """When it last changed."""


class StoredLead(Struct, frozen=True):
    """A lead and the version of its row, which is its ETag."""

    lead: Lead
    version: int


_SOURCE: Final = tuple(f"source.{name}" for name in Source.__struct_fields__)
PATHS: Final = tuple(path for name in Lead.__struct_fields__ for path in (_SOURCE if name == "source" else (name,)))
"""The way to each value of a lead, as `source.url`."""
COLUMNS: Final = ", ".join(PATHS).replace(".", "_")


def from_row(row: Any) -> Lead:
    """A lead from the columns of `COLUMNS`, in that order."""
    id_, email, name, phone, company, score, url, campaign, referrer, custom, origin, bot_id, created, updated = row
    return Lead(
        id_, email, name, phone, company, score, Source(url, campaign, referrer), custom, origin, bot_id,
        clock.iso(created), clock.iso(updated),
    )  # fmt: skip


class LeadPatch(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A change of a lead: RFC 7396. Absent stays, null clears; `custom_fields` merges key by key."""

    name: Name | None | UnsetType = UNSET
    """Name of the person."""
    email: Email | None | UnsetType = UNSET
    """E-mail address. A lead needs this or `phone`, and no other lead of its bot may have the same."""
    phone: Phone | None | UnsetType = UNSET
    """Phone number, in any notation; best with `+` and the country's code."""
    company: Name | None | UnsetType = UNSET
    """Name of the company."""
    score: Score | UnsetType = UNSET
    """How promising the lead is. Cannot be cleared."""
    custom_fields: dict[FieldKey, FieldValue | None] | None | UnsetType = UNSET
    """Values by name, to be added or replaced; `null` removes one, `null` for the whole removes all. At most 50 in all,
    with names of up to 64 and texts of up to 1,000 characters, whole numbers of 64 bits, and at most 12,288 bytes as
    JSON in all."""

    def applied_to(self, lead: Lead) -> Lead:
        """The lead as this patch leaves it."""
        values = {field: value for field in self.__struct_fields__ if (value := getattr(self, field)) is not UNSET}
        if "custom_fields" in values:
            fields = {} if values["custom_fields"] is None else {**custom_fields(lead), **values["custom_fields"]}
            values["custom_fields"] = {key: value for key, value in fields.items() if value is not None}
        return msgspec.structs.replace(lead, **values)


def _length(field: str) -> int:
    told, *_ = get_args(get_type_hints(LeadPatch, include_extras=True)[field])
    return int(get_args(told)[1].max_length)


TEXTS: Final = tuple(name for name in LeadPatch.__struct_fields__ if name not in ("score", "custom_fields"))
"""The attributes that people and bots give as a text, or that are null."""
LENGTHS: Final = {field: _length(field) for field in TEXTS}
"""The most characters of each."""
_PLAIN: Final = (*TEXTS, "score")
CONTENTS: Final = dict.fromkeys(TEXTS, "text") | {"score": "int", "custom_fields": "json"}
"""The columns of what may be changed, with the type of each."""


class LeadUpdated(Lead, frozen=True, kw_only=True):
    """What `lead.updated` carries: the lead as it is now, and the old value of each attribute that changed."""

    previous_attributes: dict[str, Any]
    """The old value of each attribute that changed; of `custom_fields`, those names that changed."""


class LeadDeleted(Struct, frozen=True):
    """The answer to a deletion, and what `lead.deleted` carries."""

    id: str
    """The lead that is gone."""
    deleted: bool = True
    """Always `true`."""


def custom_fields(lead: Lead) -> dict[str, FieldValue]:
    """The custom fields, parsed if they still are the database's text."""
    fields = lead.custom_fields
    return msgspec.json.decode(fields) if isinstance(fields, msgspec.Raw) else fields


def contents(lead: Lead) -> dict[str, Any]:
    """What may be changed of a lead, as columns."""
    custom = msgspec.json.encode(lead.custom_fields).decode()
    return {name: getattr(lead, name) for name in _PLAIN} | {"custom_fields": custom}


def too_large(fields: dict[str, FieldValue]) -> bool:
    """Whether custom fields are more bytes than a lead may have."""
    return len(msgspec.json.encode(fields)) > MAX_CUSTOM_BYTES


def fitting(fields: dict[str, FieldValue], more: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    """Custom fields with as many of `more`, in their order, as a lead may have: a visitor's answer is never refused."""
    for key, value in more.items():
        longer = {**fields, key: value}
        if len(longer) <= MAX_CUSTOM_FIELDS and not too_large(longer):
            fields = longer
    return fields


def previous_attributes(before: Lead, after: Lead) -> dict[str, Any]:
    """The attributes that differ, each with its old value; of `custom_fields`, the keys that differ."""
    old = {name: getattr(before, name) for name in _PLAIN if getattr(before, name) != getattr(after, name)}
    was, now = custom_fields(before), custom_fields(after)
    # As JSON: in Python, `1 == True`. A key that is new was null.
    encode = msgspec.json.encode
    if differ := [key for key in {**was, **now} if encode(was.get(key)) != encode(now.get(key))]:
        old["custom_fields"] = {key: was.get(key) for key in differ}
    return old
