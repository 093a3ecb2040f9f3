"""What /v1 says of bots, of the messages of one conversation, and of the key that asks."""

from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, ids
from tests import make, statements


async def found(client, path, status=200):
    answer = await client.get(path)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_bots_come_by_page_and_one_by_one(client, workspace, bot):
    second = await bots.create(workspace, "Second")
    elsewhere = await accounts.create_workspace("Other")
    theirs = await bots.create(elsewhere, "Theirs")
    page = await found(client, "/v1/bots?limit=1&page=2")
    assert page["meta"] == {"total": 2, "page": 2, "per_page": 1}
    assert [one["id"] for one in page["data"]] == [second]
    first, _ = (await found(client, "/v1/bots"))["data"]
    assert first == (await found(client, f"/v1/bots/{bot}"))["data"]
    assert first == {
        "id": bot, "name": "Bot", "published_version": None, "allowed_origins": [], "created_at": first["created_at"],
    }  # fmt: skip
    assert (await found(client, "/v1/bots?page=3"))["data"] == []
    for missing in (theirs, ids.new("bot"), "x", "%00"):
        assert (await found(client, f"/v1/bots/{missing}", 404))["code"] == "not_found"


async def test_messages_come_by_page_oldest_first(client, workspace, bot):
    talk = await make.conversation(workspace, bot)
    for number in range(4):
        await conversations.add_message(workspace, talk, "user", f"Number {number}")
    await make.conversation(workspace, bot)
    whole = (await found(client, f"/v1/conversations/{talk}"))["data"]["messages"]
    pages = [await found(client, f"/v1/conversations/{talk}/messages?limit=2&page={page}") for page in (1, 2, 3, 4)]
    assert [message for page in pages for message in page["data"]] == whole
    assert [len(page["data"]) for page in pages] == [2, 2, 1, 0]
    assert [page["meta"] for page in pages] == [{"total": 5, "page": page, "per_page": 2} for page in (1, 2, 3, 4)]
    await found(client, f"/v1/conversations/{talk}/messages?page=1000000000")
    await found(client, f"/v1/conversations/{ids.new('conv')}/messages", 404)
    await found(client, "/v1/conversations/%00/messages", 404)


async def test_the_total_is_that_of_the_messages_beside_it(client, workspace, bot):
    """Something is said before whatever is read of messages."""
    talk = await make.conversation(workspace, bot)

    async def speak(sql, _):
        if "message" in sql:
            await conversations.add_message(workspace, talk, "user", "Wait")

    with statements.before_each(speak):
        page = await found(client, f"/v1/conversations/{talk}/messages")
    assert page["meta"]["total"] == len(page["data"]) > 1


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "page=0", "limit=1&limit=2", "cursor=first", "page=x"])
async def test_a_page_that_cannot_be_asked_for(client, workspace, bot, query):
    talk = await make.conversation(workspace, bot)
    for path in ("/v1/bots", f"/v1/conversations/{talk}/messages"):
        await found(client, f"{path}?{query}", 400)


async def test_a_key_sees_itself_whatever_it_may_do(anonymous, workspace):
    end = clock.now() + timedelta(days=3)
    key_id, key = await accounts.create_key(workspace, "CRM", [], end)
    anonymous.headers["Authorization"] = f"Bearer {key}"
    me = (await found(anonymous, "/v1/me"))["data"]
    assert me == {
        "id": key_id, "name": "CRM", "scopes": [], "workspace": {"id": workspace, "name": "Test"},
        "limits": {"requests_per_minute": 6000, "burst": 200}, "created_at": me["created_at"],
        "expires_at": clock.iso(end),
    }  # fmt: skip
    assert key not in str(me)
    await accounts.revoke_key(workspace, key_id)
    assert (await anonymous.get("/v1/me", headers={"Authorization": "Bearer nonsense"})).status_code == 401


async def test_a_key_sees_the_limit_of_its_workspace(client, workspace):
    await workspaces.set_quota(workspace, "requests", 30)
    limits = (await found(client, "/v1/me"))["data"]["limits"]
    assert limits == {"requests_per_minute": 30, "burst": 30}
