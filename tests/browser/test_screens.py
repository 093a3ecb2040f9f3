"""Every screen, filled with the longest things there may be, at the width of a phone and of a desk."""

import json
import re

import pytest
import trustme
from playwright.async_api import expect

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import invitations, sso
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import library
from leadwire.domain.conversations import changes as conversation_reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import LeadPatch, Source
from leadwire.domain.webhooks import certificates, changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from tests import make
from tests.browser.desk import signed_in
from tests.delivery.wired import Wire

LONG = "Wildenstein" * 400
ME = f"{LONG[:60]}@{LONG[:50]}.example.org"


@pytest.fixture
async def places(workspace, redis):
    """Everything with long names; answers what stands for each part of a path."""
    bot = await bots.create(workspace, LONG[:100])
    await bots.save_draft(
        workspace, bot, library.text("lead-qualification").replace('text = "', f'text = "{LONG[:300]}')
    )
    await bots.publish(workspace, bot)
    await bots.set_appearance(workspace, bot, [f"https://{LONG[:60].lower()}.{LONG[:60].lower()}.example"], "#0f766e")
    await bots.add_faq_entry(workspace, bot, LONG[:500], LONG[:2000])
    url = f"https://example.com/{LONG[:1500]}"
    endpoint = await changes.create(workspace, url, ["lead.created", "message.received", "conversation.started"])
    await changes.enable(workspace, endpoint.id)
    await changes.configure(workspace, endpoint.id, EndpointChange(headers={f"X-{LONG[:60]}": LONG[:500]}))
    certificate = trustme.CA().issue_cert(f"{LONG[:60]}.example", common_name=LONG[:64], organization_name=LONG[:64])
    chain = "".join(one.bytes().decode() for one in certificate.cert_chain_pems)
    await certificates.replace(workspace, endpoint.id, chain, certificate.private_key_pem.bytes().decode())
    origin = Origin(source=Source(f"/{LONG[:1000]}", LONG[:200], f"https://{LONG[:1000]}"), browser=LONG[:60])
    talk = await conversation_reads.start(workspace, bot, origin)
    await conversation_reads.add_message(workspace, talk, "user", LONG[:4000])
    await conversation_reads.add_message(workspace, talk, "bot", f"https://example.com/{LONG[:2000]}")
    custom = {LONG[:64]: LONG[:1000]}
    found = LeadPatch(
        name=LONG[:200], email=f"{LONG[:64]}@{LONG[:60]}.example", company=LONG[:200], custom_fields=custom
    )
    lead = await conversation_reads.capture_lead(workspace, talk, found)
    await conversation_reads.hand_off(workspace, talk, LONG[:200])
    await inbox.note(workspace, talk, (await db.value("SELECT id FROM user_account")) or "user_x", LONG[:4000])
    await inbox.add_reply(workspace, LONG[:60], LONG[:4000])
    await accounts.create_key(
        workspace, LONG[:100], networks=[f"2001:db8:1234:5678:9abc:def0:1234:{n:x}" for n in range(50)]
    )
    await invitations.invite(workspace, f"{LONG[:60]}@{LONG[:60]}.example.net", "agent")
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
    return {
        "bot_id": bot, "conversation_id": talk, "lead_id": lead.id, "endpoint_id": endpoint.id, "event_id": event,
        "job_id": job.id, "provider_id": await sso.add(workspace, LONG[:60], f"https://{LONG[:60].lower()}.example/{LONG[:900]}"),
    }  # fmt: skip


async def test_no_screen_is_wider_than_the_window(visit, door, workspace, places):
    page = await signed_in(visit, door, workspace, ME)
    too_wide = []
    paths = [re.sub(r"\{(\w+):\w+\}", lambda part: places[part[1]], path) for path in router.PAGES]
    for path in [
        *paths,
        f"/inbox?c={places['conversation_id']}",
        f"/webhooks/new?url=https://{LONG[:60]}.example&next=1",
    ]:
        await page.goto(f"{door}{path}")
        await expect(page.locator("main")).to_be_visible()
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 844})
            over = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over > 0:
                too_wide.append((path.split("?")[0], width, over))
    assert too_wide == []
    assert len(paths) > 30
