"""Looking leads up. Every query takes the workspace first."""

from collections import Counter
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, structs

from leadwire.domain.leads import identity
from leadwire.domain.leads.schema import COLUMNS, TEXTS, Email, Lead, Score, StoredLead, from_row
from leadwire.domain.listing.keyset import BY_BOT_AND_TIME, BY_TIME, BY_UPDATE, UPDATED, Found, Keyset
from leadwire.domain.listing.listing import Figures, Listing
from leadwire.domain.listing.queries import PageQuery, SearchQuery
from leadwire.domain.search import documents
from leadwire.domain.search import reads as documents_found
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.ids import is_id

WALKED: Final = 10_000
"""Leads that one page reads at most where a custom field is looked at."""
_FIRST: Final = 500  # leads that are looked at before the index of custom fields
BANDS: Final = 10
"""Scores are counted in bands of ten: 0 to 9, ..., 90 to 100."""
BAND_NAMES: Final = [f"{band * 10}–{band * 10 + 9 if band < BANDS - 1 else 100}" for band in range(BANDS)]  # noqa: RUF001
_Score = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_Field = Annotated[str, Meta(max_length=64)]
_Test = Literal["equals", "contains", "set"]
_Value = Annotated[str, Meta(max_length=200)]


class LeadQuery(PageQuery, frozen=True, kw_only=True):
    """The filters of the list."""

    score_min: _Score | None = None
    """Minimum score, inclusive."""
    score_max: _Score | None = None
    """Maximum score, inclusive."""
    email: Annotated[Email, Meta(min_length=1)] | None = None
    """Only leads with this e-mail address, in any case. One bot has one at most."""
    sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "score", "-score"] | None = None


class LeadSearch(SearchQuery, frozen=True, kw_only=True):
    """What is looked for on the screen."""

    score_min: Score | None = None
    sort: Literal["newest", "oldest", "score"] = "newest"
    field: _Field = ""
    """A custom field, which is to pass the `test` with the `value`; as are `field2` and `field3` theirs."""
    test: _Test = "equals"
    value: _Value = ""
    field2: _Field = ""
    test2: _Test = "equals"
    value2: _Value = ""
    field3: _Field = ""
    test3: _Test = "equals"
    value3: _Value = ""
    view: Annotated[str, Meta(max_length=40)] = ""
    """The view that it comes from."""

    @property
    def conditions(self) -> list[tuple[str, _Test, str]]:
        """Each custom field that is asked for, its test and the value."""
        tests = (
            (self.field, self.test, self.value), (self.field2, self.test2, self.value2),
            (self.field3, self.test3, self.value3),
        )  # fmt: skip
        return [test for test in tests if test[0]]


class Among(LeadSearch, frozen=True, kw_only=True):
    """The same among these leads only."""

    ids: list[str]


class _Leads(Listing[Lead]):
    async def search(self, workspace: str, query: SearchQuery, limit: int = 50) -> Found[Lead]:
        """As every list; but a whole e-mail address is found wherever it is."""
        if "@" in query.q and query == LeadSearch(q=query.q) and (leads := await with_email(workspace, query.q)):
            return Found(leads, None)
        if not isinstance(query, LeadSearch) or not query.conditions:
            return await super().search(workspace, query, limit)
        order, search = self.orders.get(query.sort, self.newest), query.exclusive()
        first = await structs.replace(order, looked_at=_FIRST).page(workspace, search, query.after, limit, query)
        if not first.stopped:  # what most leads have is among the first
            return first
        # What contains a value is among the leads that have the field.
        marks = [
            documents.field(workspace, name, value if test == "equals" else None)
            for name, test, value in query.conditions
        ]
        ids = await documents_found.few_at_once(workspace, [documents.all_of([mark]) for mark in marks])
        if ids is not None:
            search = Among(**structs.asdict(search), ids=ids)
        return await structs.replace(order, looked_at=WALKED).page(workspace, search, query.after, limit, query)

    async def total(self, workspace: str, query: SearchQuery) -> int | None:
        """As every list; None where a custom field is looked at."""
        return None if getattr(query, "conditions", None) else await super().total(workspace, query)

    def order_of(self, query: PageQuery) -> Keyset[Lead]:
        """As every list; the few leads with one address, or with words, are not looked for in the order."""
        order = super().order_of(query)
        if query.q is not None or getattr(query, "email", None):
            return structs.replace(_NEWEST, key=order.key, descending=order.descending)
        return order


_TESTS: Final = {
    "equals": "lower(custom_fields ->> :field_{0}) = lower(:value_{0})",
    "contains": "strpos(lower(custom_fields ->> :field_{0}), lower(:value_{0})) > 0",
    "set": "custom_fields ->> :field_{0} IS NOT NULL AND :value_{0}::text IS NOT NULL",
}


class _Sought(Keyset[Lead], frozen=True, kw_only=True):
    def used(self, query: object) -> dict[str, Any]:
        """As every list; an address in the form that leads have."""
        used = super().used(query)
        return used | {"email": identity.sought(used["email"])} if "email" in used else used

    def sought(self, words: Any) -> tuple[str, dict[str, Any]]:
        """As every list; or words with tests of custom fields, of a LeadSearch."""
        if isinstance(words, str):
            return super().sought(words)
        condition, values = super().sought(words.q)
        for letter, (name, test, value) in zip("abc", words.conditions, strict=False):
            condition += f" AND {_TESTS[test].format(letter)}"
            values |= {f"field_{letter}": name, f"value_{letter}": value}
        return condition, values


_NEWEST: Final = _Sought(
    make=from_row,
    table="lead",
    columns=COLUMNS,
    filters={
        "score_min": "score >= :score_min::int",
        # Not `score <= :score_max`: with `score_min` the planner would expect few leads in between and sort all that
        # there are, where it can walk the newest and stop.
        "score_max": "(score, score) <= (:score_max::int, :score_max::int)",
        # By the index of bot and address. An array, so that it is made first, once.
        "email": """id = ANY(ARRAY(SELECT known.id FROM bot JOIN lead known ON known.bot_id = bot.id
            AND lower(known.email) = lower(:email) WHERE bot.workspace_id = :workspace))""",
        **BY_BOT_AND_TIME,
        **UPDATED,
    },
    key=BY_TIME,
    text=f"concat_ws(' ', {', '.join(TEXTS)})",
)
_BEST: Final = structs.replace(_NEWEST, key={"score": "smallint", **BY_TIME})
# Leads are looked up one by one, and not to be counted, however many the planner expects.
_OF_ENTRY: Final = "FROM lead WHERE lead.id = lead_by_update.id"
_CREATED: Final = f"(SELECT created_at {_OF_ENTRY})"
_BY_UPDATE: Final = Keyset(
    make=lambda row: from_row(row[2]),
    table="lead_by_update",
    columns=f"id, updated_at, (SELECT ({COLUMNS}) {_OF_ENTRY})",
    filters={**_NEWEST.filters, "since": f"{_CREATED} > :since", "until": f"{_CREATED} < :until"},
    key=BY_UPDATE,
)
_CHANGED: Final = ("lead.updated",)  # a lead can leave the range, or come to have the address
_LIST: Final = _Leads(
    _NEWEST,
    lambda *query: documents_found.having("lead", *query),
    ("lead.created", "lead.deleted"),
    dict.fromkeys(("score_min", "score_max", "email", *UPDATED), _CHANGED),
    {"ids": None},
    orders={"oldest": structs.replace(_NEWEST, descending=False), "score": _BEST},
    sorts={"created_at": _NEWEST, "score": _BEST, "updated_at": _BY_UPDATE},
)
page, search, total, walk, export = _LIST.page, _LIST.search, _LIST.total, _LIST.walk, _LIST.export

_FIND: Final = f"SELECT {COLUMNS}, version FROM lead WHERE workspace_id = :workspace AND id = :id"
_STORED, _LOCKED = sql(_FIND), sql(f"{_FIND} FOR UPDATE")
# Each bot's lead with this e-mail address, by the index of bot and address.
_WITH_EMAIL: Final = sql(f"""
SELECT {COLUMNS} FROM (SELECT id AS bot FROM bot WHERE workspace_id = :workspace) bots
JOIN lead ON bot_id = bot AND lower(email) = lower(:email)""")
# How many leads were captured on a day (UTC) with scores of a band: one pass over an index with all these columns.
captured: Final = Figures(
    f"""SELECT least(score / 10, {BANDS - 1}), count(*) FROM lead
    WHERE workspace_id = :workspace AND {{on}} {{bot}} GROUP BY 1""",
    by_day=True,
).rows


async def by_day_and_band(workspace: str, since: datetime, bot_id: str | None) -> tuple[Counter[date], Counter[int]]:
    """Return how many leads were captured since a time, by day (UTC) and by the band of their score."""
    by_day, by_band = Counter[date](), Counter[int]()
    for day, band, count in await captured(workspace, since, bot_id):
        by_day[day] += count
        by_band[band] += count
    return by_day, by_band


def place(lead: Lead) -> str:
    """Return where a lead is in the list, newest first, as `after` takes it."""
    return _NEWEST.place({"created_at": clock.parse(lead.created_at), "id": lead.id})


@query()
async def field_names(workspace: str) -> list[str]:
    """Return the names of the custom fields of the newest leads, those first that most of them have."""


async def stored(workspace: str, lead_id: str, *, lock: bool = False) -> StoredLead:
    """Return one lead with its version; `lock` locks its row for the open transaction. Raise NotFound."""
    statement = _LOCKED if lock else _STORED
    # What is no id cannot be there, and NUL bytes would upset the database.
    row = await statement.row(workspace=workspace, id=lead_id) if is_id("lead", lead_id) else None
    if row is None:
        raise NotFound("There is no such lead.")
    return StoredLead(from_row(row[:-1]), row[-1])


async def with_email(workspace: str, email: str) -> list[Lead]:
    """Return the leads with this address (compared without case), one of each bot at most, newest first."""
    rows = await _WITH_EMAIL.rows(workspace=workspace, email=identity.sought(email))
    return sorted((from_row(row) for row in rows), key=lambda lead: lead.created_at, reverse=True)
