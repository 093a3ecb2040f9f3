"""One delivery sent again by hand, or retried before its time; what receivers answered with, without their secrets."""

import json

import pytest

from leadwire.delivery.worker import attempt as attempts
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, reads, redrives
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, NotFound
from tests import make
from tests.delivery.wired import endpoint, resend


async def of(workspace, event_id):
    (found,) = await reads.deliveries_of(workspace, event_id)
    return found


async def test_what_was_delivered_is_sent_again_with_the_same_id_and_body(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    (first,) = await receiver.received(1)
    await resend(workspace, first.webhook_id, made.id)
    assert (await of(workspace, first.webhook_id)).state == "waiting"
    with pytest.raises(Conflict, match="on its way"):
        await resend(workspace, first.webhook_id, made.id)
    await wire.turn()
    _, again = await receiver.received(2)
    assert (again.webhook_id, again.body, again.attempt) == (first.webhook_id, first.body, 1)
    found = await of(workspace, first.webhook_id)
    assert (found.state, found.generation, [one.generation for one in found.history]) == ("delivered", 2, [1, 2])


async def test_what_was_discarded_and_what_is_dead_is_sent_again(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=1))
    receiver.answer = 410
    await make.lead(workspace, bot)
    await make.somebody(workspace, bot)
    await wire.turn()
    (dead,) = await receiver.received(1)
    await changes.discard(workspace, made.id)
    await wire.relay()
    receiver.answer = 204
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=None))
    await changes.enable(workspace, made.id)
    canceled = await db.value("SELECT event_id FROM delivery_result WHERE state = 'cancelled'")
    for event_id in (dead.webhook_id, canceled):
        await resend(workspace, event_id, made.id)
    await wire.turn()
    assert {one.webhook_id for one in (await receiver.received(3))[1:]} == {dead.webhook_id, canceled}
    assert (await of(workspace, canceled)).state == "delivered"


async def test_others_tests_and_what_is_erased_are_not_sent_again(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    test = await changes.send_test(workspace, made.id)
    await wire.turn()
    sent = next(one.webhook_id for one in await receiver.received(2) if one.webhook_id != test)
    with pytest.raises(NotFound):
        await resend("ws_other", sent, made.id)
    with pytest.raises(NotFound):
        await redrives.retry_now("ws_other", sent, made.id)
    with pytest.raises(Conflict, match="A test is sent once"):
        await resend(workspace, test, made.id)
    await erasure.erase_lead(workspace, lead.id)
    with pytest.raises(Conflict, match="removed"):
        await resend(workspace, sent, made.id)
    assert len(receiver.deliveries) == 2


async def test_a_retry_that_waits_is_made_now_and_counts(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    (first,) = await receiver.received(1)
    await wire.turn()
    assert len(receiver.deliveries) == 1
    await redrives.retry_now(workspace, first.webhook_id, made.id)
    await wire.turn()
    assert (await receiver.received(2))[1].attempt == 2
    receiver.answer = 204
    await redrives.retry_now(workspace, first.webhook_id, made.id)
    await wire.turn()
    assert (await of(workspace, first.webhook_id)).state == "delivered"
    with pytest.raises(Conflict, match="No retry waits"):
        await redrives.retry_now(workspace, first.webhook_id, made.id)


async def test_response_headers_are_kept_without_secrets_and_erased_with_the_person(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    receiver.extra_headers = "X-Trace: abc-1\r\nSet-Cookie: sid=41414141\r\nX-Api-Key: 42424242\r\n"
    lead = await make.lead(workspace, bot)
    await wire.turn()
    (sent,) = await receiver.received(1)
    (attempt,) = (await of(workspace, sent.webhook_id)).history
    known = {name.lower(): value for name, value in attempt.response_headers}
    assert (known["x-trace"], known["set-cookie"], known["x-api-key"]) == (
        "abc-1", attempts.MASKED, attempts.MASKED
    )  # fmt: skip
    await erasure.erase_lead(workspace, lead.id)
    assert await db.value("SELECT response_headers FROM attempt") is None


def test_headers_are_bounded():
    found = attempts.kept_headers([(f"x-{number}", "a" * 10_000) for number in range(100)])
    assert found is not None
    assert len(found) <= 4096
    assert {len(value) for _, value in json.loads(found)} == {500}
    assert attempts.kept_headers([]) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://host.example/a/b", "https://host.example/a/b"),
        ("https://ada:sesame@host.example/a?token=sesame&a=b#c", "https://host.example/a?(masked)"),
        ("/sign-in?next=/a&code=sesame", "/sign-in?(masked)"),
        ("/done#access_token=sesame", "/done#(masked)"),
        ('<https://x.example/b?cursor=sesame>; rel="next"', '<https://x.example/b?(masked)>; rel="next"'),
        (
            'Bearer realm="https://u:sesame@x.example/?a=b", error="e"',
            'Bearer realm="https://x.example/?(masked)", error="e"',
        ),
        ("//sesame@host.example/@ada", "//host.example/@ada"),
        ("https://" + "sesame" * 200 + "@host.example/", "https://host.example/"),
    ],
)
def test_addresses_in_response_headers_lose_what_may_be_a_secret(value, shown):
    for name in ("Location", "Link", "WWW-Authenticate", "X-Other"):
        assert json.loads(attempts.kept_headers([(name, value)])) == [[name, shown]]
