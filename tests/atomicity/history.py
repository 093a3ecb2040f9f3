"""What the outbox says has happened, held against what the tables say is so: neither may know more than the other."""

import json
from collections import Counter, defaultdict
from typing import Any

import msgspec

from leadwire.domain.leads import reads as leads
from leadwire.infrastructure import db
from tests.atomicity.world import CLOSED, World


class Told:
    """The events of a workspace, folded in their order. An event whose body was erased still counts."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()  # by kind and whom it is about
        self.messages: dict[str, dict[str, Any]] = {}
        self.leads: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []

    def hear(self, kind: str, conversation_id: str | None, lead_id: str | None, body: str) -> None:
        data = json.loads(body)["data"] if body else None
        if kind == "lead.deleted":
            self.deleted.append(data["id"])
            self.leads.pop(data["id"], None)
        elif kind.startswith("lead."):
            assert lead_id not in self.deleted
            self.counts[kind, lead_id] += 1
            if data:
                data.pop("previous_attributes", None)
                self.leads[lead_id] = data
        else:
            self.counts[kind.partition(".")[0] if "message" in kind else kind, conversation_id] += 1
            if data and "message" in kind:
                assert kind == ("message.received" if data["role"] == "user" else "message.sent")
                self.messages[data["id"]] = data


async def assert_one_truth(world: World) -> int:
    """Every change has its event and every event its change. Answers how many events there are."""
    told = Told()
    events = await db.rows(
        "SELECT kind, conversation_id, lead_id, body FROM event WHERE workspace_id = $1 ORDER BY position",
        world.workspace,
    )
    for event in events:
        told.hear(*event)
    expected: Counter[tuple[str, str]] = Counter()
    await _conversations(world, expected)
    await _messages(world, told, expected)
    await _leads(world, told, expected)
    assert told.counts == expected
    await _deliveries(world)
    return len(events)


async def _deliveries(world: World) -> None:
    """Whoever wants an event has its delivery, or the relay has still to make them all: never both, never neither.

    Of an event that was erased before the relay came nothing is left.
    """
    events = await db.rows(
        """SELECT v.id, v.body = '' AS erased, v.kind = ANY($2) AS left_to_relay,
               ARRAY(SELECT e.id FROM webhook_endpoint e
                     WHERE e.workspace_id = v.workspace_id AND v.kind = ANY(e.events) ORDER BY 1) AS wanted,
               ARRAY(SELECT d.endpoint_id FROM every_delivery d WHERE d.event_id = v.id ORDER BY 1) AS made,
               (SELECT count(*) FROM outbox o WHERE o.event_id = v.id) AS waiting
           FROM event v WHERE v.workspace_id = $1""",
        world.workspace,
        list(CLOSED),
    )
    for event in events:
        assert event["wanted"]
        if event["left_to_relay"]:
            assert (event["made"], event["waiting"]) in (([], 1), *([([], 0)] if event["erased"] else [])), event
        else:
            assert (event["made"], event["waiting"]) == (event["wanted"], 0), event
    assert await db.value("SELECT count(*) FROM outbox WHERE event_id NOT IN (SELECT id FROM event)") == 0
    assert await db.value("SELECT count(*) FROM delivery WHERE event_id NOT IN (SELECT id FROM event)") == 0


async def _conversations(world: World, expected: Counter[tuple[str, str]]) -> None:
    for talk in await db.rows("SELECT * FROM conversation WHERE workspace_id = $1", world.workspace):
        expected["conversation.started", talk["id"]] = 1
        expected["conversation.handoff", talk["id"]] = int(talk["handoff_requested_at"] is not None)
        expected["conversation.ended", talk["id"]] = int(talk["status"] == "ended")
        expected["message", talk["id"]] = talk["messages_count"]


async def _messages(world: World, told: Told, expected: Counter[tuple[str, str]]) -> None:
    stored = {row["id"]: row for row in await db.rows("SELECT * FROM message WHERE workspace_id = $1", world.workspace)}
    by_talk = defaultdict(list)
    for message in stored.values():
        by_talk[message["conversation_id"]].append(message["seq"])
    for talk, places in by_talk.items():
        assert sorted(places) == list(range(1, expected["message", talk] + 1))
    for message_id, data in told.messages.items():
        assert (data["role"], data["content"]) == (stored[message_id]["role"], stored[message_id]["content"])


async def _leads(world: World, told: Told, expected: Counter[tuple[str, str]]) -> None:
    rows = await db.rows("SELECT id, version FROM lead WHERE workspace_id = $1", world.workspace)
    for lead_id, version in rows:
        expected["lead.created", lead_id] = 1
        expected["lead.updated", lead_id] = version - 1
        if lead_id in told.leads:
            found = await leads.stored(world.workspace, lead_id)
            assert told.leads[lead_id] == json.loads(msgspec.json.encode(found.lead))
    assert told.leads.keys() <= {row["id"] for row in rows}
    assert len(told.deleted) == len(set(told.deleted))
    for lead_id in told.deleted:  # its other events are there still, without their bodies
        assert told.counts["lead.created", lead_id] == 1
        for kind in ("lead.created", "lead.updated"):
            expected[kind, lead_id] = told.counts[kind, lead_id]
