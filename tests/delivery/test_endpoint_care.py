"""What an endpoint can be given: a rate, headers, a new secret; and when it is disabled."""

import pytest
from standardwebhooks.webhooks import Webhook

from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.worker.claim import put_back
from leadwire.delivery.worker.health import FAILING_ATTEMPTS
from leadwire.domain.webhooks import changes, reads, rotation
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from leadwire_development import verifying
from tests import make
from tests.delivery.wired import endpoint


async def somebody(workspace, bot):
    """A lead that nobody else is."""
    return await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")


async def test_a_rate_spreads_deliveries_out_without_using_up_attempts(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=120))  # two a second
    for _ in range(5):
        await somebody(workspace, bot)
    counts = []
    for seconds in (0, 1, 1, 1):
        await db_clock.forward(seconds)
        await wire.turn()
        await wire.turn()  # nothing more in the same second
        counts.append(len(receiver.deliveries))
    assert counts == [2, 4, 5, 5]
    assert {row["attempts"] for row in await db.rows("SELECT attempts FROM every_delivery")} == {1}


async def sent_after(wire, receiver, db_clock, *pauses):
    """How many deliveries there are after a turn, some seconds each behind the one before."""
    counts = []
    for seconds in pauses:
        await db_clock.forward(seconds)
        await wire.turn()
        counts.append(len(receiver.deliveries))
    return counts


async def test_a_rate_below_one_a_second_waits_for_its_turn(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=6))
    for _ in range(2):
        await somebody(workspace, bot)
    assert await sent_after(wire, receiver, db_clock, 0, 9, 1) == [1, 1, 2]


async def test_a_rate_goes_on_when_the_clock_is_put_back(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=6))
    await somebody(workspace, bot)
    await wire.turn()
    await db_clock.forward(-3600)
    for _ in range(2):
        await somebody(workspace, bot)
    assert await sent_after(wire, receiver, db_clock, 0, 9, 1) == [2, 2, 3]


async def test_own_headers_are_sent_and_kept_sealed(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    changed = await changes.configure(
        workspace, made.id, EndpointChange(headers={"Authorization": "Bearer s3cret-value", "X-Team": "sales"})
    )
    assert changed.headers == ["Authorization", "X-Team"]
    kept = await db.value("SELECT headers FROM webhook_endpoint")
    assert b"s3cret-value" not in kept
    await somebody(workspace, bot)
    await wire.turn()
    (delivery,) = receiver.deliveries
    assert (delivery.headers["authorization"], delivery.headers["x-team"]) == ("Bearer s3cret-value", "sales")
    assert (await changes.configure(workspace, made.id, EndpointChange(headers={}))).headers == []


async def test_headers_that_no_key_opens_hide_no_endpoint(workspace, receiver):
    """Lists of all, the overview and a person's copy have the others; and the one can be repaired, or removed."""
    made, other = [await endpoint(workspace, receiver.url) for _ in range(2)]
    await changes.configure(workspace, made.id, EndpointChange(headers={"X-Gateway": "sesame"}))
    await db.rows("UPDATE webhook_endpoint SET headers = 'x'::bytea || substring(headers FROM 2)")
    shown = {one.id: one.headers for one in await reads.endpoints(workspace)}
    assert shown == {made.id: [reads.UNREADABLE], other.id: []}
    changed = await changes.configure(workspace, made.id, EndpointChange(headers={"X-Door": "open"}))
    assert changed.headers == ["X-Door"]
    await db.rows("UPDATE webhook_endpoint SET headers = 'x'::bytea || substring(headers FROM 2)")
    await changes.delete(workspace, made.id)
    assert [one.id for one in await reads.endpoints(None)] == [other.id]


@pytest.mark.parametrize(
    "headers",
    [
        {name: "x"}
        for name in (
            "Host", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "webhook-id",
            "Webhook-Signature", "X-Service-Signature", "x-service-anything", "traceparent", "Proxy-Authorization",
            "Expect", "User-Agent", "Cookie", "Sec-Fetch-Site", "", "a b", "a:b", "ä", "x\r\nHost: evil", "n" * 101,
        )
    ]
    + [{"X-A": value} for value in ("a\r\nX-B: c", "a\nb", "\0", "ä", " a", "a ", "v" * 1001)]
    + [{"X-A": "1", "x-a": "2"}, {f"X-{n}": "v" for n in range(21)}],
)  # fmt: skip
async def test_headers_that_are_ours_or_malformed_are_refused(workspace, receiver, headers):
    made = await endpoint(workspace, receiver.url)
    with pytest.raises(Invalid) as refused:
        await changes.configure(workspace, made.id, EndpointChange(headers=headers))
    assert refused.value.errors
    assert (await reads.endpoint(workspace, made.id)).headers == []


@pytest.mark.parametrize("rate", [0, -1, 60_001])
async def test_a_rate_out_of_range_is_refused(workspace, receiver, rate):
    made = await endpoint(workspace, receiver.url)
    with pytest.raises(Invalid):
        await changes.configure(workspace, made.id, EndpointChange(rate_limit=rate))


async def test_a_secret_rotates_without_a_gap(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    staged = await rotation.stage(workspace, made.id)
    assert (await reads.endpoint(workspace, made.id)).staged_at
    await somebody(workspace, bot)
    await wire.turn()
    await rotation.promote(workspace, made.id)
    await somebody(workspace, bot)
    await wire.turn()
    during, after = receiver.deliveries
    for secret in (made.secret, staged):
        Webhook(secret).verify(during.body, during.headers)
    now = int(clock.now().timestamp())
    verifying.verify(during.body, during.headers, made.secret, now=now)
    verifying.verify(after.body, after.headers, staged, now=now)
    with pytest.raises(verifying.BadSignature):
        verifying.verify(after.body, after.headers, made.secret, now=now)
    assert await rotation.reveal(workspace, made.id) == (staged, None)
    with pytest.raises(Conflict):
        await rotation.promote(workspace, made.id)


async def test_a_staged_secret_can_be_taken_back(workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await rotation.stage(workspace, made.id)
    await rotation.discard(workspace, made.id)
    assert await rotation.reveal(workspace, made.id) == (made.secret, None)


async def test_another_workspace_cannot_touch_an_endpoint(workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    for attempt in (
        rotation.stage("ws_other", made.id),
        rotation.promote("ws_other", made.id),
        rotation.discard("ws_other", made.id),
        rotation.reveal("ws_other", made.id),
        changes.configure("ws_other", made.id, EndpointChange(ordered=True)),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert not (await reads.endpoint(workspace, made.id)).ordered


async def failures(workspace, bot, wire, count: int) -> None:
    for _ in range(count):
        await somebody(workspace, bot)
    while await wire.turn():
        pass


async def test_five_days_of_nothing_but_failures_disable_an_endpoint(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, FAILING_ATTEMPTS - 1)
    await db_clock.forward(4 * 86_400)
    await failures(workspace, bot, wire, 1)
    assert (await reads.endpoint(workspace, made.id)).enabled, "four days are not five"
    await db_clock.forward(86_400)
    await failures(workspace, bot, wire, 1)
    now = await reads.endpoint(workspace, made.id)
    assert (now.enabled, now.disabled_reason) == (False, "failing")


@pytest.mark.parametrize("answer", [410, 503])
async def test_what_an_address_says_is_not_held_against_the_next(workspace, bot, wire, receiver, answer):
    """It had the POST when somebody gave the endpoint another one."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer, receiver.extra_headers = answer, "Retry-After: 3600\r\n"
    await somebody(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await changes.configure(workspace, made.id, EndpointChange(url=f"{receiver.url}/next"))
    before = await reads.endpoint(workspace, made.id)
    await wire.settle(done)
    assert await reads.endpoint(workspace, made.id) == before


@pytest.mark.parametrize("suspended", [False, True])
async def test_a_pause_that_a_host_has_asked_for_ends_with_it(workspace, bot, wire, receiver, suspended):
    """That of a suspended workspace, where an operator changes it, does not."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer, receiver.extra_headers = 503, "Retry-After: 3600\r\n"
    await somebody(workspace, bot)
    await wire.turn()
    if suspended:
        await rows.hold(workspace, held=True)
    same = await changes.configure(None, made.id, EndpointChange(url=f"{receiver.url}/next"))
    assert same.paused_until
    other = receiver.url.replace("127.0.0.1", "127.0.0.2")
    assert bool((await changes.configure(None, made.id, EndpointChange(url=other))).paused_until) == suspended


async def test_what_another_address_has_failed_disables_nothing(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, FAILING_ATTEMPTS)
    await db_clock.forward(5 * 86_400)
    await changes.configure(workspace, made.id, EndpointChange(url=f"{receiver.url}/next"))
    await failures(workspace, bot, wire, 1)
    assert (await reads.endpoint(workspace, made.id)).enabled


async def test_one_success_begins_the_five_days_anew(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, FAILING_ATTEMPTS)
    await db_clock.forward(4 * 86_400)
    receiver.answer = 200
    await failures(workspace, bot, wire, 1)
    receiver.answer = 500
    await db_clock.forward(2 * 86_400)
    await failures(workspace, bot, wire, FAILING_ATTEMPTS)
    assert (await reads.endpoint(workspace, made.id)).enabled


async def test_a_few_failures_long_ago_do_not_disable_a_quiet_endpoint(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, 1)
    await db_clock.forward(6 * 86_400)
    await failures(workspace, bot, wire, 1)
    assert (await reads.endpoint(workspace, made.id)).enabled


@pytest.mark.parametrize(("posts", "then"), [(0, 1), (7, 7), (300, LARGEST_WINDOW)])
async def test_a_window_is_as_wide_as_what_a_worker_could_hold(workspace, bot, wire, receiver, posts, then):
    made = await endpoint(workspace, receiver.url)
    await wire.relay()  # opens it
    await somebody(workspace, bot)
    await wire.relay()
    (entry,) = await wire.read()
    await put_back([entry.key], wire.consumer, {made.id: (posts, 60.0)})
    row = await db.row("SELECT admission_window, open, due_at > now() AS later FROM webhook_endpoint")
    assert tuple(row) == (then, False, True)


@pytest.mark.parametrize(("size", "successes", "then"), [(1, 3, 4), (LARGEST_WINDOW - 1, 3, LARGEST_WINDOW)])
async def test_a_window_opens_with_each_success_up_to_its_largest(
    workspace, bot, wire, receiver, size, successes, then
):
    await endpoint(workspace, receiver.url)
    await db.rows("UPDATE webhook_endpoint SET admission_window = $1", size)
    for _ in range(successes):
        await somebody(workspace, bot)
    while await wire.turn():
        pass
    assert len(receiver.deliveries) == successes
    assert await db.value("SELECT admission_window FROM webhook_endpoint") == then


async def test_failures_leave_a_window_as_it_is(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, 5)
    assert await db.value("SELECT admission_window FROM webhook_endpoint") == LARGEST_WINDOW
