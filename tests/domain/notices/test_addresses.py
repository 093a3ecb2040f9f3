"""Slack and Teams are told the same as people, once, by messages that wait until they have arrived."""

import json
import logging

import msgspec
import pytest

from leadwire.delivery.transport import shared
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.notices import reads
from leadwire.domain.notices.changes import addresses
from leadwire.domain.notices.schema import ENDPOINTS
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, redis_pool, settings
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, RateLimited
from tests import jobs
from tests.delivery.interleaved import apart
from tests.domain.notices.telling import tell
from tests.domain.notices.test_endpoints import failing

PAUSE = ENDPOINTS.pause.total_seconds() + 1
SECRET = "/services/T0/B0/sesame-77"


@pytest.fixture
async def slack(workspace, receiver):
    """An address at a real server that is told of endpoints."""
    return (await addresses.add(workspace, "slack", receiver.url + SECRET, ["endpoints"]))[0]


async def send():
    """Do what is due; an attempt that fails waits for the next."""
    await jobs.run(addresses.JOB)


def texts(receiver):
    return [json.loads(one.body)["text"] for one in receiver.deliveries]


async def shown(workspace):
    (one,) = await reads.addresses(workspace)
    return one.error, one.stopped_at is not None, await db.value("SELECT cardinality(pending) FROM notice_address")


async def test_each_change_is_told_once_without_a_mail_server(workspace, slack, receiver, db_clock):
    await failing(workspace)
    assert [await tell("endpoints") for _ in range(2)] == [0, 0]
    await send()
    await send()
    (text,) = texts(receiver)
    assert text.startswith("Webhook endpoints of Test: 1 failing\n\nFailing: every delivery since then")
    assert "- host1.example, since " in text
    assert text.endswith("See all endpoints\n/webhooks")
    assert "secret-path" not in text
    assert {one.path for one in receiver.deliveries} == {"/hook" + SECRET}
    await db.rows("UPDATE webhook_endpoint SET failing_since = NULL, failures = 0")  # as a success does
    await db_clock.forward(PAUSE)
    await tell("endpoints", processes=4)
    await send()
    assert [one.partition("\n")[0] for one in texts(receiver)[1:]] == ["Webhook endpoints of Test: 1 in service again"]
    assert await shown(workspace) == (None, False, 0)


async def test_what_was_not_chosen_is_not_told(workspace, receiver):
    await addresses.add(workspace, "slack", receiver.url, ["dead_letters", "waiting"])
    await addresses.add(await accounts.create_workspace("Other"), "slack", receiver.url, ["endpoints"])
    await failing(workspace)
    await tell("endpoints")
    await send()
    assert receiver.deliveries == []


async def test_teams_takes_a_card_and_nobodys_words_become_more_than_text(workspace, receiver):
    await addresses.add(workspace, "teams", receiver.url, ["waiting"])
    await addresses.add(workspace, "slack", receiver.url, ["waiting"])
    found = [{"bot": "<!channel> & co", "since": "now"}]
    async with db.transaction():
        await addresses.queue(workspace, "waiting", {"count": 1, "listed": found, "more": 0, "path": "/inbox"})
    await send()
    assert {one.headers["content-type"] for one in receiver.deliveries} == {"application/json"}
    card, text = sorted((json.loads(one.body) for one in receiver.deliveries), key=lambda body: "text" in body)
    assert "at the bot &lt;!channel&gt; &amp; co, since now" in text["text"]
    ((kind, content),) = [(one["contentType"], one["content"]) for one in card["attachments"]]
    assert (card["type"], kind) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (content["type"], content["version"]) == ("AdaptiveCard", "1.4")
    assert [one["text"] for one in content["body"]][:2] == [
        "A visitor waits for a person in Test", "Nobody has the inbox open.",
    ]  # fmt: skip


async def test_what_fails_is_tried_again_by_the_schedule_of_webhooks_and_then_left(
    workspace, slack, receiver, db_clock
):
    receiver.answer = 500
    await failing(workspace)
    await tell("endpoints")
    for seconds in (61, 301, 1801):
        await send()
        await send()  # not before its time
        assert await shown(workspace) == ("Slack answered 500: ok.", False, 1)
        await db_clock.forward(seconds)
    await send()
    assert len(receiver.deliveries) == 4
    assert await shown(workspace) == ("Slack answered 500: ok.", False, 0)
    assert await db.value("SELECT count(*) FROM job WHERE kind = $1", addresses.JOB) == 0  # nothing for the operator
    receiver.answer = 200
    async with db.transaction():
        await addresses.queue(workspace, "endpoints", {"summary": "next", "parts": NONE, "more": NONE})
    await send()
    assert await shown(workspace) == (None, False, 0)


async def queued(workspace, summary):
    """Let a message wait, as what is told does."""
    async with db.transaction():
        await addresses.queue(workspace, "endpoints", {"summary": summary, "parts": NONE, "more": NONE})


async def test_another_message_does_not_shorten_the_pause_of_the_first(workspace, slack, receiver, db_clock):
    """Visitors who waited were told every five minutes, so that what could not be sent was given up after ten."""
    receiver.answer = 500
    await db_clock.stop()
    for attempts, seconds in enumerate((60, 300, 1800), 1):
        await queued(workspace, f"message {attempts}")
        await send()
        await queued(workspace, "another")
        await send()
        assert len(receiver.deliveries) == attempts
        await db_clock.forward(seconds - 1)
        await queued(workspace, "another")
        await send()
        assert len(receiver.deliveries) == attempts
        await db_clock.forward(1)
    receiver.answer = 200
    await send()
    said = [text.partition("\n")[0] for text in texts(receiver)]
    assert said[:4] == ["Webhook endpoints of Test: message 1"] * 4
    assert len(set(said)) == 4
    assert await shown(workspace) == (None, False, 0)


async def test_a_message_that_comes_amid_an_attempt_does_not_make_the_next_one_due(workspace, slack, receiver):
    receiver.answer = 500
    receiver.hang()
    await queued(workspace, "first")
    sending = apart(send())
    await receiver.received(1)
    await queued(workspace, "second")
    receiver.release()
    await sending
    await send()
    assert len(receiver.deliveries) == 1
    assert await shown(workspace) == ("Slack answered 500: ok.", False, 2)


async def test_the_attempts_of_one_are_not_those_of_another(workspace, slack, receiver, db_clock):
    """The oldest was left out, as too many waited: the next one has all of its attempts."""
    receiver.answer = 500
    await queued(workspace, "first")
    await send()
    for number in range(20):
        await queued(workspace, str(number))
    for seconds in (60, 60, 300, 1800):
        assert await db.value("SELECT pending[1] LIKE '%Test: 0%' FROM notice_address")
        await db_clock.forward(seconds + 1)
        await send()
    assert sum("Test: 0\n" in text for text in texts(receiver)) == 4
    assert await db.value("SELECT pending[1] LIKE '%Test: 1%' FROM notice_address")


NONE = dict.fromkeys(("ending", "failing", "disabled", "working"), ())


async def test_messages_arrive_in_their_order_and_the_newest_are_kept(workspace, slack, receiver, db_clock):
    for number in range(25):
        async with db.transaction():
            await addresses.queue(workspace, "endpoints", {"summary": str(number), "parts": NONE, "more": NONE})
    await send()
    said = [one.partition("\n")[0] for one in texts(receiver)]
    assert said == [f"Webhook endpoints of Test: {number}" for number in range(5, 25)]


@pytest.mark.parametrize("status", [404, 410])
async def test_an_address_that_is_gone_is_switched_off_and_says_so(workspace, slack, receiver, db_clock, status):
    receiver.answer = status
    await failing(workspace)
    await tell("endpoints")
    await send()
    assert await shown(workspace) == (f"Slack answered {status}: ok.", True, 0)
    await failing(workspace, name="more")
    await db_clock.forward(PAUSE)
    await tell("endpoints")
    await send()
    assert len(receiver.deliveries) == 1
    entry = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'notice_address.stopped'")
    assert tuple(entry) == ("notices", slack, f"Slack answered {status}: ok.")


async def test_a_private_address_is_refused_when_it_is_added_and_when_it_is_sent_to(workspace, slack, monkeypatch):
    for url in ("https://10.0.0.1/x", "http://hooks.slack.com/x", "ftp://example.com/"):
        with pytest.raises(Invalid):
            await addresses.add(workspace, "slack", url, ["endpoints"])
    shared.transport.cache_clear()
    chosen = msgspec.structs.replace(settings.get(), allowed_networks=())
    monkeypatch.setattr(settings, "get", lambda: chosen)
    await failing(workspace)
    await tell("endpoints")
    await send()
    shared.transport.cache_clear()
    assert await shown(workspace) == ("No answer from Slack: blocked address.", False, 1)


async def test_a_test_says_what_came_back(workspace, slack, receiver):
    assert await addresses.test(workspace, slack) == "The test has arrived. Slack answered 204."
    assert texts(receiver) == ["A test from Test\n\nNotices will arrive here."]
    receiver.answer = 403
    with pytest.raises(Conflict, match=r"did not arrive\. Slack answered 403: ok"):
        await addresses.test(workspace, slack)
    with pytest.raises(NotFound):
        await addresses.test("ws_other", slack)
    receiver.answer = 200
    for _ in range(8):
        await addresses.test(workspace, slack)
    with pytest.raises(RateLimited):
        await addresses.test(workspace, slack)


async def test_the_url_is_sealed_and_in_no_log_and_not_in_redis(workspace, slack, receiver, caplog):
    caplog.set_level(logging.DEBUG)
    receiver.answer = 500
    await failing(workspace)
    await tell("endpoints")
    await send()
    stored = [str(tuple(row)) for table in ("notice_address", "job", "audit_entry") for row in await db.rows(
        f"SELECT t::text FROM {table} t")]  # fmt: skip
    kept = [await redis_pool.require_client().dump(key) async for key in redis_pool.require_client().scan_iter()]
    assert [text for text in [*stored, caplog.text, *map(str, kept)] if "sesame" in text] == []


async def test_removing_takes_what_waits_along_and_a_suspended_workspace_waits(workspace, slack, receiver):
    await failing(workspace)
    await tell("endpoints")
    await workspaces.suspend(workspace)
    await send()
    assert receiver.deliveries == []
    await workspaces.resume(workspace)
    with pytest.raises(NotFound):
        await addresses.remove("ws_other", slack)
    assert await addresses.remove(workspace, slack) == ("slack", f"127.0.0.1:{receiver.port}")
    await jobs.run(addresses.JOB, early=True)
    assert receiver.deliveries == []
    assert await db.value("SELECT count(*) FROM job WHERE kind = $1", addresses.JOB) == 0


async def test_a_workspace_has_few(workspace, receiver):
    for number in range(10):
        await addresses.add(workspace, "slack", f"{receiver.url}/{number}", ["waiting"])
    with pytest.raises(Conflict, match="at most 10"):
        await addresses.add(workspace, "slack", receiver.url, ["waiting"])
    with pytest.raises(Invalid, match="mentions"):
        await addresses.add(workspace, "slack", receiver.url, ["mentions"])
