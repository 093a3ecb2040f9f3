"""What a workspace may have at most, however many add at once."""

import asyncio

import pytest
from msgspec import structs

from leadwire.domain.accounts import changes, quotas
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.bots import changes as bots
from leadwire.domain.webhooks import changes as webhooks
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import QuotaExceeded, RateLimited
from tests.domain.bots.flows import SMALL
from tests.flows.commands import run
from tests.interfaces.web.conftest import PASSWORD, admin, browser, stranger  # noqa: F401 - fixtures

URL = "http://127.0.0.1:9001/"


@pytest.fixture
def limits(monkeypatch):
    """Sets quotas for this test."""

    def put(**chosen):
        changed = structs.replace(settings.get(), **chosen)
        monkeypatch.setattr(settings, "get", lambda: changed)

    return put


ADDITIONS = {
    "endpoints": (lambda workspace, bot, n: webhooks.create(workspace, URL, ["lead.created"]), "webhook_endpoint"),
    "bots": (lambda workspace, bot, n: bots.create(workspace, f"Bot {n}"), "bot"),
    "faq_entries": (
        lambda workspace, bot, n: bots.add_faq_entry(workspace, bot, f"Question {n}?", "Yes."),
        "faq_entry",
    ),
    "users": (lambda workspace, bot, n: team.invite(workspace, f"{n}@example.org", "agent"), "invitation"),
    "api_keys": (lambda workspace, bot, n: changes.create_key(workspace, f"Key {n}"), "api_key"),
}


@pytest.mark.parametrize("quota", ADDITIONS)
async def test_of_many_who_add_at_once_as_many_succeed_as_may(workspace, bot, limits, quota):
    limits(**{f"max_{quota}": 4})
    add, table = ADDITIONS[quota]
    results = await asyncio.gather(*(add(workspace, bot, n) for n in range(10)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert {type(refusal) for refusal in refused} == {QuotaExceeded}
    assert await db.value(f"SELECT count(*) FROM {table} WHERE workspace_id = $1", workspace) == 4
    assert (refused[0].status, refused[0].code) == (409, "quota_exceeded")
    assert refused[0].detail.startswith("A workspace may have 4 ")
    assert refused[0].detail.endswith("`leadwire workspaces quota`.")
    other = await changes.create_workspace("Other")
    await add(other, await bots.create(other, "Theirs") if quota != "bots" else "", 0)  # has a quota of its own


async def test_a_bot_has_so_many_versions(workspace, bot, limits):
    limits(max_bot_versions=2)
    for number in range(2):
        await bots.save_draft(workspace, bot, SMALL + f"# {number}\n")
        await bots.publish(workspace, bot)
    await bots.save_draft(workspace, bot, SMALL + "# one more\n")
    with pytest.raises(QuotaExceeded, match="2 versions of a bot"):
        await bots.publish(workspace, bot)
    assert await db.value("SELECT published_version FROM bot") == 2


async def test_all_flows_together_have_so_many_bytes(workspace, limits):
    made = [await bots.create(workspace, name) for name in ("A", "B", "C")]
    limits(max_flow_bytes=len(SMALL.encode()) * 3)
    await bots.save_draft(workspace, made[0], SMALL)
    await bots.publish(workspace, made[0])
    await bots.save_draft(workspace, made[1], SMALL)
    with pytest.raises(QuotaExceeded, match="bytes of flows"):
        await bots.publish(workspace, made[1])
    with pytest.raises(QuotaExceeded, match="bytes of flows"):
        await bots.save_draft(workspace, made[2], SMALL)
    await bots.save_draft(workspace, made[1], SMALL)  # no more than before


async def test_what_has_ended_does_not_count(workspace, limits):
    limits(max_api_keys=1)
    key_id, _ = await changes.create_key(workspace, "CRM")
    with pytest.raises(QuotaExceeded):
        await changes.roll_key(workspace, key_id, 3600)  # both would be in use
    key_id, _ = await changes.roll_key(workspace, key_id, 0)
    await changes.revoke_key(workspace, key_id)
    await changes.create_key(workspace, "CRM")


async def test_an_invitation_becomes_an_account_at_the_limit(workspace, limits):
    limits(max_users=1)
    token = await team.invite(workspace, "ada@example.org", "admin")
    await team.accept(token, "", PASSWORD, Browser("a"))
    with pytest.raises(QuotaExceeded):
        await team.invite(workspace, "eve@example.org", "agent")


async def test_counting_is_part_of_the_change(workspace):
    with pytest.raises(RuntimeError):
        await quotas.check(workspace, "bots", sql("SELECT 0"))


async def test_the_page_says_so(admin, workspace, limits):  # noqa: F811
    limits(max_api_keys=1)
    await changes.create_key(workspace, "CRM")
    await admin.open("/keys")
    page = await admin.fill("/keys", 409, name="Another", scope=["leads:read"])
    assert "A workspace may have 1 API keys in use." in page
    assert 'value="Another"' in page


async def test_the_command_line_says_so(servers, workspace):
    access = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "MAX_API_KEYS": "1"}
    command = ("keys", "create", "--name", "crm")
    first, second = [await asyncio.to_thread(run, *command, **access) for _ in range(2)]
    assert first.returncode == 0, first.stderr
    assert second.returncode == 1
    assert second.stderr.startswith("leadwire: A workspace may have 1 API keys in use.")


async def test_test_events_to_one_host_have_a_rate(workspace, redis, limits):
    limits(test_event_rate=3)
    made = [await webhooks.create(workspace, f"http://127.0.0.1:{port}/", ["lead.created"]) for port in (9001, 9002)]
    elsewhere = await webhooks.create(workspace, "http://127.0.0.2/", ["lead.created"])
    sends = [webhooks.send_test(workspace, made[n % 2].id) for n in range(10)]
    results = await asyncio.gather(*sends, return_exceptions=True)
    refused = [result for result in results if isinstance(result, RateLimited)]
    assert len(refused) == 7
    assert refused[0].headers == {"Retry-After": "300"}
    assert await db.value("SELECT count(*) FROM event") == 3
    await webhooks.send_test(workspace, elsewhere.id)


async def test_the_page_of_a_refused_test_says_when_to_come_back(admin, workspace, redis, limits):  # noqa: F811
    limits(test_event_rate=1)
    made = await webhooks.create(workspace, URL, ["lead.created"])
    await admin.open(f"/webhooks/{made.id}")
    await webhooks.send_test(workspace, made.id)
    page = await admin.post(f"/webhooks/{made.id}/test", data={"form_token": admin.token, "kind": "lead.created"})
    assert (page.status_code, page.headers["Retry-After"]) == (429, "300")
    assert "At most 1 test events to 127.0.0.1 in five minutes." in page.text
