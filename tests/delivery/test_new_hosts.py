"""A host that has not answered its workspace with a 2xx yet gets few deliveries, however many endpoints lead there."""

import pytest
from msgspec import structs

from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.monitoring import gauges, ledger
from leadwire.delivery.relay.admit import admit
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.errors import QuotaExceeded
from tests import statements
from tests.delivery.test_delivery import states
from tests.delivery.test_gauges import shown
from tests.delivery.test_numbers import people
from tests.delivery.wired import endpoint, redriven

RATE = 60  # a minute


@pytest.fixture(autouse=True)
def limited(monkeypatch, db_clock):
    """The rate that an installation has, and a clock of the database that stands still."""
    chosen = structs.replace(settings.get(), new_host_rate=RATE, max_host_endpoints=16)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    monkeypatch.setattr(rows, "is_strangers", lambda url: url.startswith("http"))  # the tests' receivers, too
    return chosen


@pytest.fixture
async def crowd(workspace, receiver, limited, monkeypatch):
    """The endpoints of a workspace that had 60 at one host before there was a limit."""
    with monkeypatch.context() as patched:
        patched.setattr(settings, "get", lambda: structs.replace(limited, max_host_endpoints=60))
        return [await endpoint(workspace, receiver.url) for _ in range(60)]


async def turns(wire, count: int = 4) -> None:
    for _ in range(count):
        await wire.turn()


async def is_new(made) -> bool:
    return (await reads.endpoint(None, made.id)).new_host


async def is_open(made) -> bool:
    return bool(await db.value("SELECT open FROM webhook_endpoint WHERE id = $1", made.id))


async def test_a_strangers_host_is_not_flooded(workspace, bot, wire, receiver, crowd, db_clock):
    """The review's case: 60 endpoints and a few requests of visitors made 910 POSTs within 21 seconds."""
    receiver.answer = 404
    await people(workspace, bot, 15)
    await turns(wire)
    assert len(receiver.deliveries) == 60, "one for each endpoint"
    await db_clock.forward(21)
    await turns(wire)
    assert len(receiver.deliveries) <= 60 + 21
    await db_clock.forward(60)
    await turns(wire)
    assert 60 + RATE <= len(receiver.deliveries) <= 60 + 21 + RATE + 1
    assert sum((await states()).values()) == 900, "they wait, and none is gone"


async def test_the_first_2xx_lifts_it_for_all(workspace, bot, wire, receiver, db_clock):
    made = [await endpoint(workspace, receiver.url) for _ in range(3)]
    assert [await is_new(one) for one in made] == [True] * 3
    receiver.answer = 503
    await people(workspace, bot, 10)
    await turns(wire)
    assert (len(receiver.deliveries), await is_new(made[0])) == (3, True)
    receiver.answer = 204
    await db_clock.forward(3)
    await turns(wire, 2)
    assert await states() == {"delivered": 27, "waiting": 3}, "but for the retries"
    assert [await is_new(one) for one in made] == [False] * 3
    assert not await is_new(await endpoint(workspace, receiver.url)), "nor is it for a later one"
    await db_clock.forward(60)
    await turns(wire)
    assert await states() == {"delivered": 30}
    assert [await is_open(one) for one in made] == [True] * 3


async def test_the_answer_to_a_test_lifts_it(workspace, bot, wire, receiver):
    made = await changes.create(workspace, receiver.url, ["lead.created"])
    await changes.send_test(workspace, made.id)
    await wire.turn()
    assert not await is_new(made)
    failing = await db.row("SELECT failures, failing_since FROM webhook_endpoint WHERE id = $1", made.id)
    assert tuple(failing) == (0, None)
    await changes.enable(workspace, made.id)
    await people(workspace, bot, 10)
    await wire.turn()
    assert await states() == {"delivered": 11}


async def test_a_test_that_fails_says_nothing_of_the_endpoint(workspace, wire, receiver):
    receiver.answer = 500
    made = await changes.create(workspace, receiver.url, ["lead.created"])
    await changes.send_test(workspace, made.id)
    await wire.turn()
    assert await is_new(made)
    failing = await db.row("SELECT failures, failing_since FROM webhook_endpoint WHERE id = $1", made.id)
    assert tuple(failing) == (0, None)


async def test_another_host_and_another_workspace_begin_anew(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.turn()
    assert not await is_new(made)
    await changes.configure(workspace, made.id, EndpointChange(url=receiver.url + "/elsewhere"))
    assert not await is_new(made)
    await changes.configure(workspace, made.id, EndpointChange(url=receiver.url.replace("127.0.0.1", "127.0.0.2")))
    assert await is_new(made)
    other = await accounts.create_workspace("Other")
    theirs = await endpoint(other, receiver.url)
    assert await is_new(theirs)
    await people(other, await bots.create(other, "Theirs"), 3)
    await wire.relay()
    assert await states() == {"delivered": 1, "queued": 1, "waiting": 2}


async def test_an_answer_of_the_host_before_says_nothing(workspace, bot, wire, receiver):
    """Or whoever has a host of their own could let it answer once the endpoint leads to another."""
    made = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await changes.configure(workspace, made.id, EndpointChange(url=receiver.url.replace("127.0.0.1", "127.0.0.2")))
    await wire.settle(done)
    assert await states() == {"delivered": 1}
    assert await is_new(made)


async def test_an_endpoint_whose_receiver_fetches_has_no_host(workspace):
    made = await endpoint(workspace, "pull:crm")
    assert not await is_new(made)


@pytest.mark.parametrize("ordered", [False, True])
async def test_retries_of_an_endpoint_keep_their_times(workspace, bot, wire, receiver, db_clock, ordered):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(ordered=ordered))
    receiver.answer = 500
    await people(workspace, bot, 1)
    await wire.turn()
    for number, seconds in enumerate((60, 300, 1800), 2):
        await db_clock.forward(seconds - 1)
        await wire.turn()
        assert len(receiver.deliveries) == number - 1
        await db_clock.forward(1)
        await wire.turn()
        assert len(receiver.deliveries) == number
    assert await states() == {"dead": 1}


async def test_a_redrive_keeps_to_it(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await people(workspace, bot, 1)
    await turns(wire)
    await db.rows("UPDATE webhook_endpoint SET enabled = true, due_at = now()")
    receiver.answer = 500
    await people(workspace, bot, 4)
    for (event_id,) in await db.rows("SELECT event_id FROM delivery_result"):
        await redriven(workspace, event_id)
    before = len(receiver.deliveries)
    await db_clock.forward(2)
    await turns(wire)
    assert len(receiver.deliveries) == before + 1


async def test_few_are_under_way_at_once(workspace, bot, wire, receiver, db_clock):
    """To a host that hangs."""
    await endpoint(workspace, receiver.url)
    await people(workspace, bot, 20)
    for _ in range(20):
        await wire.relay()
        await db_clock.forward(2)
    assert await states() == {"queued": 4, "waiting": 16}


async def test_its_own_rate_holds_where_that_is_lower(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=6))
    await people(workspace, bot, 5)
    await turns(wire)
    await db_clock.forward(9)
    await turns(wire)
    assert len(receiver.deliveries) == 1
    await db_clock.forward(1)
    await turns(wire)
    assert len(receiver.deliveries) == 2


async def test_it_is_no_fault_of_the_relay(workspace, bot, wire, receiver, redis, db_clock):
    await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await people(workspace, bot, 100)
    await wire.turn()
    await db_clock.forward(120)
    checks, _ = await ledger.check(redis, settings.get())
    assert {check.name: check.broken for check in checks if check.broken} == {}
    await gauges._ledger()
    assert shown(gauges.NEW_HOSTS) == 1


async def test_a_host_that_has_answered_costs_no_statement(workspace, bot, wire, receiver, limited):
    await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.turn()
    await admit()
    await people(workspace, bot, 3)
    await wire.relay()
    with statements.sent() as sent:
        assert len(await wire.deliver()) == 3
    assert len(sent) == 2, "a claim and a record"


async def test_so_many_endpoints_lead_to_one_host(workspace, receiver, crowd):
    other = await accounts.create_workspace("Other")
    made = [await changes.create(other, f"{receiver.url}/{n}", ["lead.created"]) for n in range(16)]
    with pytest.raises(QuotaExceeded, match="16 webhook endpoints at one host"):
        await changes.create(other, receiver.url, ["lead.created"])
    elsewhere = await changes.create(other, "http://127.0.0.2/", ["lead.created"])
    with pytest.raises(QuotaExceeded, match="16 webhook endpoints at one host"):
        await changes.configure(other, elsewhere.id, EndpointChange(url=receiver.url))
    assert (await reads.endpoint(other, elsewhere.id)).url == "http://127.0.0.2/"
    await changes.configure(other, made[0].id, EndpointChange(url=receiver.url + "/another"))
    await changes.configure(workspace, crowd[0].id, EndpointChange(url=receiver.url + "/theirs"))
    with pytest.raises(QuotaExceeded):
        await changes.create(workspace, receiver.url, ["lead.created"])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("https://example.com/", "https://EXAMPLE.com.:8443/a?b=//c", True),
        ("https://example.com/", "https://a.example.com/", False),
        ("http://[::1]:8080/a]", "http://[::1]/", True),
        ("http://[::1]/", "http://127.0.0.1/", False),
    ],
)
async def test_what_is_the_same_host(workspace, first, second, same, limited, monkeypatch):
    chosen = structs.replace(limited, max_host_endpoints=1)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    await changes.create(workspace, first, ["lead.created"])
    if same:
        with pytest.raises(QuotaExceeded):
            await changes.create(workspace, second, ["lead.created"])
    else:
        await changes.create(workspace, second, ["lead.created"])


async def test_nobody_is_a_stranger_in_the_operators_own_networks(workspace, receiver, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("LEADWIRE_MAX_HOST_ENDPOINTS", "1")
    settings.get.cache_clear()
    urls = (
        receiver.url,
        f"{receiver.url}/2",
        "https://127.0.0.1/",
        "https://127.0.0.1/2",
        "https://[::1]/",
        "https://localhost/",
    )
    own = [await changes.create(workspace, url, ["lead.created"]) for url in urls]
    assert not any([await is_new(one) for one in own])
    new = await changes.create(workspace, "https://example.com/", ["lead.created"])
    assert await is_new(new)
    with pytest.raises(QuotaExceeded):
        await changes.create(workspace, "https://example.com/again", ["lead.created"])
    monkeypatch.undo()
    settings.get.cache_clear()
