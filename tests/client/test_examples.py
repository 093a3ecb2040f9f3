"""The documented examples of the client, executed."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import changes, receivers
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.domain.webhooks.schema import EndpointChange
from tests import make
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import numbered, people
from tests.delivery.test_pull import puller_of
from tests.delivery.wired import endpoint
from tests.waiting import eventually

DOCS = Path(__file__).parents[2] / "src" / "leadwire" / "docs"
DOCUMENT = DOCS.parents[1] / "leadwire_client" / "README.md"


async def test_the_examples_do_what_they_show(base_url, api_key, workspace, bot, monkeypatch, capsys):
    use, receive = re.findall(r"```python\n(.+?)```", DOCUMENT.read_text(), re.DOTALL)
    secret, there = signing.new_secret(), {}
    for name, value in {"KEY": api_key, "URL": base_url, "SECRET": secret}.items():
        monkeypatch.setenv(name, value)
    await make.lead(workspace, bot, score=80, custom_fields={"old": 1})
    await asyncio.to_thread(exec, use, there)
    assert capsys.readouterr().out == "0 visitors wait for a person\n"
    changed = (await make.emitted())[-1]
    assert (changed["event"], changed["data"]["custom_fields"]) == ("lead.updated", {"stage": "won"})

    exec(receive, there)
    body = json.dumps(
        {"event": "lead.created", "timestamp": "2026-01-02T03:04:05.678Z", "data": SAMPLES["lead.created"]}
    )
    assert there["receive"](body.encode(), _signed(body.encode(), secret)) == 204
    assert capsys.readouterr().out == "evt_1 ada@example.com\n"
    assert there["receive"](body.encode() + b" ", _signed(body.encode(), secret)) == 401


async def test_the_example_of_the_inbox_handles_an_event_once(servers, tables, monkeypatch):
    _, example, *_ = re.findall(r"```python\n(.+?)```", (DOCS / "receiving-webhooks.md").read_text(), re.DOTALL)
    secret, there = signing.new_secret(), {}
    monkeypatch.setenv("DATABASE", f"{servers.database_url}&options=-csearch_path%3Dreceiver")
    monkeypatch.setenv("SECRET", secret)
    exec(example, there)
    body = json.dumps(
        {"event": "lead.created", "timestamp": "2026-01-02T03:04:05.678Z", "data": SAMPLES["lead.created"]}
    ).encode()
    with pytest.raises(psycopg.errors.UndefinedTable):  # answered 500 by any framework: the event comes again
        there["receive"](body, _signed(body, secret))
    await tables.execute("CREATE TABLE job (kind text, body text)")
    assert [there["receive"](body, _signed(body, secret)) for _ in range(3)] == [204] * 3
    assert there["receive"](body + b" ", _signed(body, secret)) == 401
    assert [tuple(row) for row in await tables.fetch("SELECT * FROM job")] == [("lead.created", body.decode())]
    (statement,) = re.findall(r"```sql\n(.+?)```", (DOCS / "receiving-webhooks.md").read_text(), re.DOTALL)
    assert [await tables.execute(statement, "evt_2") for _ in range(2)] == ["INSERT 0 1", "INSERT 0 0"]


@pytest.fixture
def given(base_url, servers, tables, monkeypatch):
    """Sets the environment of a receiver's program: where Leadwire and its own database are, and what else it needs."""

    def give(**values):
        values |= {"DATABASE": f"{servers.database_url}&options=-csearch_path%3Dreceiver", "URL": base_url}
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        return tables

    return give


async def test_the_example_of_a_checkpoint_has_what_is_missing_sent_again(given, workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    *_, once, check, _ = re.findall(r"```python\n(.+?)```", (DOCS / "receiving-webhooks.md").read_text(), re.DOTALL)
    secret, _ = await receivers.rotation.reveal(workspace, made)
    tables = given(SECRET=secret, TOKEN=await receivers.make_token(workspace, made))
    there = {}
    exec(once, there)
    exec(check, there)
    await people(workspace, bot, 3)
    await wire.turn()
    ids = {one.headers["x-service-sequence"]: one.webhook_id for one in receiver.deliveries}
    await tables.execute("INSERT INTO webhook_number (endpoint, number, id) VALUES ('', 1, $1)", ids["1"])
    receiver.deliveries.clear()
    assert await asyncio.to_thread(there["check"]) == 1
    await wire.turn()
    assert sorted(one.webhook_id for one in receiver.deliveries) == sorted([ids["2"], ids["3"]])


async def test_the_example_of_public_keys_needs_no_secret(given, base_url, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(ed25519=True))
    given(KEYS=f"{base_url}/.well-known/leadwire/{made.id}/jwks.json")
    example, *_ = re.findall(r"```python\n(.+?)```", (DOCS / "receiving-webhooks.md").read_text(), re.DOTALL)
    there = {}
    exec(example, there)
    await people(workspace, bot, 1)
    await wire.turn()
    (one,) = receiver.deliveries
    told = [await asyncio.to_thread(there["receive_signed"], body, one.headers) for body in (one.body, one.body + b" ")]
    assert told == [204, 401]


async def test_the_example_of_fetching_acknowledges_what_it_handles(given, workspace, bot, wire):
    made = await puller_of(workspace)
    *_, once, _, fetch = re.findall(r"```python\n(.+?)```", (DOCS / "receiving-webhooks.md").read_text(), re.DOTALL)
    tables = given(SECRET=made.secret, TOKEN=await receivers.make_token(workspace, made.id))
    there = {}
    exec(once, there)
    exec(fetch, there)
    await tables.execute("CREATE TABLE job (kind text, body text)")
    await people(workspace, bot, 2)
    await wire.relay()
    working = asyncio.create_task(there["work"]())

    async def delivered():
        return await states() == {"delivered": 2}

    await eventually(delivered)
    working.cancel()
    assert await tables.fetchval("SELECT count(*) FROM job") == 2


def _signed(body: bytes, secret: str, event_id: str = "evt_1") -> dict[str, Any]:
    at = int(time.time())
    made = signing.headers(
        event_id=event_id, body=body, secret=secret, staged=None, at=at, attempt=1, prefix="X-Service-"
    )
    return dict(made)
