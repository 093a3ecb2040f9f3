"""What a filter lets through, asked of PostgreSQL as deliveries are made; and what is no filter."""

import json

import msgspec
import pytest

from leadwire.delivery import envelope, outbox
from leadwire.domain.webhooks import changes, filters, preview, redrives
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Invalid
from tests import jobs, make
from tests.delivery.test_delivery import broken
from tests.delivery.wired import endpoint

BOT, OTHER = ids.new("bot"), ids.new("bot")
DATA = {
    "id": "lead_1", "bot_id": BOT, "score": 55, "name": "Zoë (Ops)", "email": None, "vip": True,
    "custom_fields": {"stage": "Won", "seats": "12", "zip": "01099", "my key": "x"},
    "source": {"url": "https://shop.example/a?b=1", "campaign": "spring sale"}, "tags": ["a", "b"],
    "previous_attributes": {"score": 40, "custom_fields": {"stage": None}},
}  # fmt: skip


async def passes(wanted: Filter, data: object = DATA, kind: str = "lead.updated") -> bool:
    body = envelope.encode(kind, clock.now(), data)
    return bool(await db.value("SELECT passes_filter($1::text::jsonpath, $2)", filters.path_of(wanted), body))


@pytest.mark.usefixtures("database")
async def test_a_condition_holds_or_does_not():
    for condition, holds in (
        ("score gte 55", True), ("score gt 55", False), ("score lt 55.5", True), ("score lte 54", False),
        ("score eq 55", True), ("score ne 55", False), ("score in 1, 55", True), ("score gte -1", True),
        ("score lt 1e22", True), ("score eq 1e999", False), ("name gt 5", False), ("vip gt 0", False),
        ("custom_fields.seats gte 12", True), ("custom_fields.seats eq 12", True), ("custom_fields.zip eq 01099", True),
        ("custom_fields.stage eq won", True), ("custom_fields.stage ne won", False), ('name eq "Zoë (ops)"', True),
        ("custom_fields.stage in lost, WON", True), ("custom_fields.stage in lost", False),
        ("custom_fields.zip in a|b, 01099", True), ("custom_fields.zip in 0, 1, 99, 010", False),
        ("custom_fields.seats in true, 12", True), ("vip in x, true", True), ("vip in false, 1, true1", False),
        ('name eq ""', False), ("source.campaign in spring, sale", False), ("custom_fields.stage in wo, w|on", False),
        ("source.campaign eq spring sale", True), ("source.campaign contains SPRING", True),
        ("source.campaign contains spring.sale", False), ("source.url contains a?b=1", True),
        ("source.url ends_with ?B=1", True), ("source.url ends_with shop", False), ("name ends_with (Ops)", True),
        ("name contains zoë", True), ("email is_set", False), ("email not_set", True), ("name is_set", True),
        ("nothing.there is_set", False), ("nothing.there ne 5", True), ("nothing.there gte 5", False),
        ("source is_set", True), ("vip eq true", True), ("vip eq 1", False), ("vip ne false", True),
        ("tags eq b", True), ("tags eq c", False), ('name contains "', False), ("name contains \\", False),
        ("name eq $.data.name", False),
    ):  # fmt: skip
        assert await passes(Filter(conditions=[condition])) is holds, condition


@pytest.mark.usefixtures("database")
async def test_bots_changed_fields_and_conditions_hold_together():
    for wanted, holds in (
        (Filter(bots=[BOT]), True), (Filter(bots=[OTHER]), False), (Filter(bots=[OTHER, BOT]), True),
        (Filter(changed=["score"]), True), (Filter(changed=["name"]), False), (Filter(changed=["name", "score"]), True),
        (Filter(changed=["custom_fields.stage"]), True), (Filter(changed=["custom_fields.seats"]), False),
        (Filter([BOT], ["score"], ["score gte 50", "vip eq true"]), True),
        (Filter([BOT], ["score"], ["score gte 50", "vip eq false"]), False),
    ):  # fmt: skip
        assert await passes(wanted) is holds, str(wanted)
    assert await passes(Filter(changed=["name"]), DATA, "lead.created"), "of the others nothing changes"
    assert await passes(Filter(bots=[OTHER]), {"id": "lead_1", "deleted": True}, "lead.deleted"), "it has no bot"


@pytest.mark.usefixtures("database")
async def test_what_cannot_be_asked_is_sent():
    for body in ("", "no JSON", '{"data": {"name": "\\u0000"}}', '{"data": 1e999999}'):
        assert await db.value("SELECT passes_filter('exists($.data.x)', $1)", body), body


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (Filter(bots=["lead_1"]), "No id of a bot"), (Filter(bots=[BOT] * 51), "At most 50"),
        (Filter(conditions=["score gte 1"] * 21), "At most 20"), (Filter(changed=["a"] * 21), "At most 20"),
        (Filter(conditions=["score"]), "Condition 1: Write `path op value`"),
        (Filter(conditions=["score gte 1", "score over 9"]), "Condition 2: No such operator: over. There are: eq, ne"),
        (Filter(conditions=["score gte much"]), "compares with a number"),
        (Filter(conditions=["score gte true"]), "compares with a number"),
        (Filter(conditions=["score eq"]), "takes a value"), (Filter(conditions=["score is_set 1"]), "takes no value"),
        (Filter(conditions=["score in ,"]), "with commas"), (Filter(conditions=["a..b eq 1"]), "names with dots"),
        (Filter(conditions=["a.b.c.d.e.f.g eq 1"]), "at most 6"), (Filter(changed=["."]), "names with dots"),
        (Filter(conditions=["score eq \x001"]), "Write `path op value`"), (Filter(changed=["x" * 201]), "At most 200"),
    ],
)  # fmt: skip
def test_what_is_no_filter_is_told_by_its_entry(wanted, says):
    with pytest.raises(Invalid) as refusal:
        filters.path_of(wanted)
    assert says in refusal.value.detail


@pytest.mark.usefixtures("database")
async def test_the_largest_filter_is_bounded_and_understood():
    entry = "x" * filters.LONGEST
    whole = Filter([BOT] * 50, [entry] * 20, [f"{'y' * 98}.z contains {'ä.' * 45}"] * 20)
    path = filters.path_of(whole)
    assert len(path) < 32_000
    assert not await passes(whole)
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Filter) == whole


def test_a_condition_costs_one_regular_expression_however_many_values_it_has():
    """Each is compiled for each event: 20 conditions of 80 values took PostgreSQL 15 ms for an event and an endpoint,
    of which a workspace may have 100, in the statement that others' changes share.
    """
    values = ",".join("abcdefghijklmnopqrstuvwxyz0123456789" * 2)
    whole = Filter([ids.new("bot") for _ in range(50)], [], [f"custom_fields.zip in {values}"] * 20)
    assert filters.path_of(whole).count("like_regex") == 20


def email(received) -> str:
    return json.loads(received.body)["data"]["email"]


async def filtered(workspace, url: str, wanted: Filter, *kinds: str) -> str:
    made = await endpoint(workspace, url, *kinds)
    await changes.configure(workspace, made.id, EndpointChange(filter=wanted))
    return made.id


@pytest.mark.parametrize("ordered", [False, True])
async def test_only_what_passes_becomes_a_delivery(workspace, bot, wire, receiver, ordered):
    """By the change itself, and by the relay where the endpoint has an order."""
    made = await filtered(workspace, receiver.url, Filter(conditions=["email contains ada"]))
    await changes.configure(workspace, made, EndpointChange(ordered=ordered))
    for name in ("ada", "bob", "ada2"):
        await make.lead(workspace, bot, email=f"{name}@example.com")
    await wire.turn()
    assert sorted(email(one) for one in receiver.deliveries) == ["ada2@example.com", "ada@example.com"]
    assert await db.value("SELECT count(*) FROM every_delivery") == 2
    assert await db.value("SELECT count(*) FROM outbox") == 0
    assert await broken(wire) == []


async def test_an_endpoint_beside_it_gets_everything_at_once(workspace, bot, receiver):
    """Without a filter nothing is left to the relay, and nothing is asked of the body."""
    await filtered(workspace, receiver.url, Filter(conditions=["email contains nobody"]))
    plain = await endpoint(workspace, receiver.url)
    await db.rows("UPDATE webhook_endpoint SET open = true")  # as the relay does, when nothing waits
    await make.lead(workspace, bot)
    rows = await db.rows("SELECT endpoint_id, state FROM delivery")
    assert [tuple(row) for row in rows] == [(plain.id, "queued")]
    assert await db.value("SELECT count(*) FROM outbox") == 0


async def test_where_no_endpoint_has_a_filter_no_body_is_looked_at(workspace, receiver):
    await endpoint(workspace, receiver.url)
    event = outbox.Event(workspace=workspace, kind="lead.created", at=clock.now(), data=DATA)
    given = {name: [value] for name, value in outbox._values(event, ids.new("evt")).items()}
    recording = outbox._recording(None)
    values = recording.arguments(given | {"direct": True})
    plan = await db.rows(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {recording.text}", *values)
    scans = [row[0].strip() for row in plan if "Scan on g " in row[0]]
    assert scans == ["->  Function Scan on g (never executed)"]


async def test_a_test_passes_always_and_a_replay_by_the_filter_of_now(workspace, bot, wire, receiver):
    made = await filtered(workspace, receiver.url, Filter(conditions=["email contains ada"]))
    await changes.send_test(workspace, made)
    await make.lead(workspace, bot, email="bob@example.com")
    await make.lead(workspace, bot, email="ada@example.com")
    await wire.turn()
    assert len(receiver.deliveries) == 2
    await changes.configure(workspace, made, EndpointChange(filter=Filter(conditions=["email contains bob"])))
    assert await redrives.count(workspace, Selection(endpoint_id=made, replay=True)) == 1
    await changes.configure(workspace, made, EndpointChange(filter=None))
    await redrives.start(workspace, Selection(endpoint_id=made, replay=True), 1000)
    assert await jobs.redrive() == 2
    # what it has had is sent again by name, whatever passes now
    await changes.configure(workspace, made, EndpointChange(filter=Filter(conditions=["email contains nobody"])))
    await wire.turn()
    had = next(one.webhook_id for one in receiver.deliveries if email(one) == "bob@example.com")
    chosen = Selection(endpoint_id=made, event_id=had, replay=True)
    assert (await redrives.start(workspace, chosen)).done == 1


async def test_a_filter_is_tried_against_what_has_happened(workspace, bot):
    for name in ("ada", "bob", "ada2"):
        await make.lead(workspace, bot, email=f"{name}@example.com")
    kinds = ["lead.created", "lead.updated"]
    tried = await preview.of(workspace, kinds, 1, Filter(conditions=["email contains ada"]))
    assert (tried.counts, tried.passed) == (
        {"lead.created": 3, "lead.updated": 0},
        {"lead.created": 2, "lead.updated": 0},
    )
    assert ["ada" in one.body for one in tried.examples] == [True, True]
    assert (await preview.of(workspace, kinds, 1)).total == 3


async def test_a_change_of_a_filter_is_told_and_an_empty_one_is_none(workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    wanted = Filter([BOT], ["score"], ["score gte 50"])
    changed = await changes.configure(workspace, made.id, EndpointChange(filter=wanted))
    assert changed.filter == wanted
    assert changed.changes == [f"filter: none -> bot in {BOT}; changed score; score gte 50"]
    changed = await changes.configure(workspace, made.id, EndpointChange(filter=Filter()))
    assert changed.filter is None
    assert await db.value("SELECT filter_path IS NULL FROM webhook_endpoint")
