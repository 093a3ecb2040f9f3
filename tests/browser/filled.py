"""A workspace in which everything has the longest name there may be, and where its screens are."""

import json
import re

import trustme

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import LeadPatch, Source
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices import reads
from leadwire.domain.webhooks import certificates, changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from leadwire.interfaces.web import router
from leadwire_development import mailbox
from tests import make
from tests.delivery.wired import Wire

LONG = "Wildenstein" * 400
ME = f"{LONG[:60]}@{LONG[:50]}.example.org"
_ALSO = [
    "/inbox?c={conversation_id}",
    f"/webhooks/new?url=https://{LONG[:60]}.example&next=1",
    f"/webhooks/new/events?url=https://{LONG[:60]}.example",
    "/privacy/retention?leads=1",
    "/leads?q=nobody",
    "/conversations?q=nobody",
]
_PUBLIC = [
    "/sign-in",
    "/sign-in/sso",
    "/forgot-password",
    "/webhooks/addresses",
    "/join/{token}",
    "{unsubscribe}",
    "/dev/mail/{secret}",
    "/dev/mail/{secret}/{mail_id}",
]


async def fill(workspace: str, redis: object) -> dict[str, str]:
    """Fill the workspace; answers what stands for each part of a path."""
    bot = await bots.create(workspace, LONG[:100])
    flow = library.text("lead-qualification").replace('text = "', f'text = "{LONG[:300]}')
    await bots.save_draft(workspace, bot, flow)
    await bots.publish(workspace, bot)
    await bots.set_origins(workspace, bot, [f"https://{LONG[:60].lower()}.{LONG[:60].lower()}.example"])
    await bots.add_faq_entry(workspace, bot, LONG[:500], LONG[:2000])
    endpoint = await _endpoint(workspace)
    talk, lead = await _talk(workspace, bot)
    await accounts.create_key(
        workspace, LONG[:100], networks=[f"2001:db8:1234:5678:9abc:def0:1234:{n:x}" for n in range(50)]
    )
    token = await team.invite(workspace, f"{LONG[:60]}@{LONG[:60]}.example.net", "agent")
    await mail.suppress(workspace, f"{LONG[:60]}@{LONG[:40]}.example", LONG[:300])
    bulk = await bulk_changes.begin(workspace, "user_x", "set", [lead], clock.iso(clock.now()), "stage", LONG[:60])
    provider = await sso.add(workspace, LONG[:60], f"https://{LONG[:60].lower()}.example/{LONG[:900]}")
    event, job = await _dead_letters(workspace, redis)
    return {
        "bot_id": bot, "conversation_id": talk, "lead_id": lead, "endpoint_id": endpoint, "event_id": event,
        "job_id": job, "bulk_id": bulk, "provider_id": provider, "token": token,
        "mail_id": await db.value("SELECT id FROM mail"),
        "secret": mailbox.path().rpartition("/")[2],
        "unsubscribe": reads.stop_path(workspace, "user_x", "waiting"),
    }  # fmt: skip


async def _talk(workspace: str, bot: str) -> tuple[str, str]:
    origin = Origin(source=Source(f"/{LONG[:1000]}", LONG[:200], f"https://{LONG[:1000]}"), browser=LONG[:60])
    talk = await conversations.start(workspace, bot, origin)
    await conversations.add_message(workspace, talk, "user", LONG[:4000])
    await conversations.add_message(workspace, talk, "bot", f"https://example.com/{LONG[:2000]}")
    found = LeadPatch(
        name=LONG[:200],
        email=f"{LONG[:64]}@{LONG[:60]}.example",
        company=LONG[:200],
        custom_fields={LONG[:64]: LONG[:1000]},
    )
    lead = await conversations.capture_lead(workspace, talk, found)
    await conversations.hand_off(workspace, talk, LONG[:200])
    await inbox.note(workspace, talk, (await db.value("SELECT id FROM user_account")) or "user_x", LONG[:4000])
    await inbox.add_reply(workspace, LONG[:60], LONG[:4000])
    return talk, lead.id


async def _endpoint(workspace: str) -> str:
    kinds = ["lead.created", "message.received", "conversation.started"]
    endpoint = await changes.create(workspace, f"https://example.com/{LONG[:1500]}", kinds)
    await changes.enable(workspace, endpoint.id)
    await changes.configure(workspace, endpoint.id, EndpointChange(headers={f"X-{LONG[:60]}": LONG[:500]}))
    certificate = trustme.CA().issue_cert(f"{LONG[:60]}.example", common_name=LONG[:64], organization_name=LONG[:64])
    chain = "".join(one.bytes().decode() for one in certificate.cert_chain_pems)
    await certificates.replace(workspace, endpoint.id, chain, certificate.private_key_pem.bytes().decode())
    return endpoint.id


async def _dead_letters(workspace: str, redis: object) -> tuple[str, str]:
    async with Wire(redis) as wire:
        await wire.relay()
    await db.rows(
        """INSERT INTO attempt SELECT event_id, endpoint_id, 1, number, true, now() + number * interval '1 second', 20,
               'http_5xx', 500, $1, $2 FROM every_delivery, generate_series(1, 3) AS number""",
        LONG[:900], json.dumps({"trace": LONG[:3000]}),
    )  # fmt: skip
    for event, to in await db.rows("SELECT event_id, endpoint_id FROM delivery"):
        await make.ended(event, to, "dead", attempts=3, last_outcome="http_5xx")
    job = await redrives.start(workspace, Selection(), 10)
    return event, job.id


def screens(known: dict[str, str]) -> list[str]:
    """The address of every declared screen, of some in other states, and of pages that anybody may open.

    A KeyError asks for more in `fill`.
    """
    paths = [*router.PAGES, *_ALSO, *_PUBLIC]
    return [re.sub(r"\{(\w+)(:\w+)?\}", lambda part: known[part[1]], path) for path in paths]
