"""All that there may be only so many of, and how one is added; `number` tells two that are added at once apart."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.sign_in.changes import passkeys, sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import Answer, Site
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.changes import counts
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import plan
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.exports import changes as exports
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import schema as lead_schema
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.notices.changes import addresses
from leadwire.domain.views import changes as views
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from tests import make
from tests.domain.accounts.sign_in.device import Device
from tests.domain.bots.flows import SMALL

_SITE: Final = Site("https://leads.example")
_HOST: Final = "https://receiver.example.org/"
_KEPT: Final = SMALL + "# 0\n"


class Place:
    """A workspace in which there may be one more of anything, and what is needed to add it."""

    async def make(self) -> None:
        self.workspace = await accounts.create_workspace("Test")
        self.bot = await bots.create(self.workspace, "Bot")
        self.bots = [await bots.create(self.workspace, name) for name in ("A", "B")]
        for bot in self.bots:
            await bots.save_draft(self.workspace, bot, _KEPT)
        self.keys = [(await accounts.create_key(self.workspace, name))[0] for name in ("A", "B")]
        self.user = await make.user(self.workspace, "admin")
        async with db.transaction():
            token = await sessions.begin(self.user, Browser("127.0.0.1", "", "one"))
        person = await sessions.person(token, "127.0.0.1")
        assert person is not None
        self.person = person
        self.conversation = await make.conversation(self.workspace, self.bot)
        self.lead = await make.lead(self.workspace, self.bot)
        elsewhere = [await webhooks.create(self.workspace, f"https://{n}.example.org/", ["lead.created"]) for n in "ab"]
        self.endpoints = [endpoint.id for endpoint in elsewhere]

    async def passkey(self, number: int) -> None:
        options, ticket = await passkeys.creation_options(self.person, _SITE)
        await passkeys.add(self.person, f"Key {number}", Answer(_SITE, ticket, Device(_SITE.origin).make(options)))

    async def counted(self, number: int) -> None:
        """What a process writes of the websites that visitors came from."""
        await counts._write({(self.bot, clock.now().date(), "source", f"{number}.example.org"): 1})

    async def said(self, number: int) -> None:
        await conversations.add_message(self.workspace, self.conversation, "user", f"Hello {number}")

    async def changed(self, number: int) -> None:
        fields = {"custom_fields": {f"field_{number}": "x"}}
        await leads.update(self.workspace, self.lead.id, LeadPatch(**fields), unchanged={})


class Limit(NamedTuple):
    """Where the number stands: a setting, or a constant of a module. How one is added, and how many there are."""

    of: str | tuple[Any, str]
    add: Callable[[Place, int], Awaitable[object]]
    count: str
    refused: str = "too_many"  # the code; empty: what comes too late is kept otherwise


def _of(function: Callable[..., Awaitable[object]], *values: Any) -> Callable[[Place, int], Awaitable[object]]:
    """Called with the workspace; of the other values a text has the number in it."""

    def add(place: Place, number: int) -> Awaitable[object]:
        given = [value.format(number) if isinstance(value, str) else value for value in values]
        return function(place.workspace, *given)

    return add


def _view(place: Place, number: int, *, shared: bool) -> Awaitable[object]:
    return views.save(place.workspace, place.user, f"View {number}", "", [], shared=shared)


_quota: Final = partial(Limit, refused="quota_exceeded")
_AT_HOST: Final = f"SELECT count(*) FROM webhook_endpoint WHERE url LIKE '{_HOST}%'"
_PEOPLE: Final = "SELECT (SELECT count(*) FROM user_account) + (SELECT count(*) FROM invitation)"
_BYTES: Final = """SELECT (SELECT coalesce(sum(octet_length(draft)), 0) FROM bot)
    + (SELECT coalesce(sum(octet_length(source)), 0) FROM bot_version)"""
_VIEWS: Final = "SELECT count(*) FROM lead_view WHERE user_id IS {} NULL"
LIMITS: Final = {
    "endpoints": _quota(
        "max_endpoints", _of(webhooks.create, "https://{}.example.com/", ["lead.created"]),
        "SELECT count(*) FROM webhook_endpoint",
    ),
    "endpoints at one host": _quota(
        "max_host_endpoints", _of(webhooks.create, f"{_HOST}{{}}", ["lead.created"]), _AT_HOST
    ),
    "endpoints that move to one host": _quota(
        "max_host_endpoints",
        lambda place, n: webhooks.configure(place.workspace, place.endpoints[n], EndpointChange(url=_HOST)), _AT_HOST,
    ),
    "bots": _quota("max_bots", _of(bots.create, "Bot {}"), "SELECT count(*) FROM bot"),
    "copies of bots": _quota(
        "max_bots", lambda place, n: bots.duplicate(place.workspace, place.bot, f"Copy {n}"), "SELECT count(*) FROM bot"
    ),
    "versions": Limit(
        "max_bot_versions", lambda place, _: bots.publish(place.workspace, place.bots[0]),
        "SELECT count(*) FROM bot_version", "",  # the second finds what the first has published
    ),
    "bytes of drafts": _quota(
        "max_flow_bytes", lambda place, n: bots.save_draft(place.workspace, place.bots[n], f"{_KEPT}#"), _BYTES
    ),
    "answers": _quota(
        "max_faq_entries", lambda place, n: bots.add_faq_entry(place.workspace, place.bot, f"Question {n}?", "Yes."),
        "SELECT count(*) FROM faq_entry",
    ),
    "invitations": _quota("max_users", _of(team.invite, "{}@example.org", "agent"), _PEOPLE),
    "keys": _quota("max_api_keys", _of(accounts.create_key, "Key {}"), "SELECT count(*) FROM api_key"),
    "new keys for old ones": _quota(
        "max_api_keys", lambda place, n: accounts.roll_key(place.workspace, place.keys[n], 3600),
        "SELECT count(*) FROM api_key",
    ),
    "providers": Limit(
        (sso, "_MOST"), _of(sso.add, "Company {}", "https://login.example.org"),
        "SELECT count(*) FROM identity_provider",
    ),
    "domains": Limit((domains, "_MOST"), _of(domains.add, "{}.example.org"), "SELECT count(*) FROM email_domain"),
    "passkeys": Limit((passkeys, "_MOST"), Place.passkey, "SELECT count(*) FROM passkey"),
    "notice addresses": Limit(
        (addresses, "_MOST"), _of(addresses.add, "slack", "https://hooks.example.org/{}", ["dead_letters"]),
        "SELECT count(*) FROM notice_address",
    ),
    "own views": Limit((views, "_MOST_VIEWS"), partial(_view, shared=False), _VIEWS.format("NOT")),
    "shared views": Limit((views, "_MOST_VIEWS"), partial(_view, shared=True), _VIEWS.format("")),
    "saved replies": Limit((inbox, "_MOST_REPLIES"), _of(inbox.add_reply, "Reply {}", "Hello"),
        "SELECT count(*) FROM saved_reply",
    ),
    "exports": Limit(
        (exports, "MOST_OPEN"), _of(exports.create, "leads", "csv", ""), "SELECT count(*) FROM export_job",
        "too_many_exports",
    ),
    "tags": Limit(
        (inbox, "_MOST_TAGS"), lambda place, n: inbox.tag(place.workspace, place.conversation, f"tag {n}"),
        "SELECT coalesce(max(cardinality(tags)), 0) FROM conversation", "validation_error",
    ),
    "messages": Limit(
        (plan, "MAX_MESSAGES"), Place.said, "SELECT max(messages_count) FROM conversation", "conversation_full"
    ),
    "custom fields": Limit(
        (lead_schema, "MAX_CUSTOM_FIELDS"), Place.changed,
        "SELECT count(*) FROM lead, json_object_keys(custom_fields)", "validation_error",
    ),
    "websites of a day": Limit(
        (counts, "_MOST_NAMES"), Place.counted, "SELECT count(*) FROM bot_count WHERE name <> 'Other'", ""
    ),
}  # fmt: skip
