"""The programs that the documentation shows, executed on a real server."""

import asyncio
import json
import os
import re
import shlex
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from leadwire.delivery import signing
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db, ids
from leadwire.interfaces.docs import markdown, reference
from leadwire_client import Leadwire
from tests import make
from tests.client.conftest import base_url  # noqa: F401 - a fixture
from tests.client.test_examples import _signed
from tests.docs.test_requests import request

SAMPLES = tomllib.loads((Path(reference.__file__).parent / "samples.toml").read_text())


def programs(page):
    """The Python of a page, block by block."""
    return re.findall(r"```python\n(.+?)```", (markdown._FOLDER / f"{page}.md").read_text(), re.DOTALL)


@pytest.fixture
def environment(base_url, api_key, monkeypatch):  # noqa: F811
    for name, value in {"KEY": api_key, "URL": base_url, "SECRET": signing.new_secret()}.items():
        monkeypatch.setenv(name, value)
    return base_url, api_key


async def test_every_operation_has_its_samples(anonymous):
    document = (await anonymous.get("/schema")).json()
    assert SAMPLES.keys() == {one["operationId"] for item in document["paths"].values() for one in item.values()}


async def test_the_samples_of_the_reference_work(environment, workspace, bot, capsys):
    url, key = environment
    lead = await make.lead(workspace, bot, score=80)
    conversation = await make.conversation(workspace, bot)
    event = (await db.rows("SELECT id FROM event ORDER BY id"))[0]

    def run() -> None:
        with Leadwire(key, url) as lw:
            known = {"lw": lw, "LEAD": lead.id, "CONVERSATION": conversation, "BOT": bot, "EVENT": event["id"]}
            known["EXPORT"] = lw.exports.create("leads").id
            for name in sorted(SAMPLES, key=lambda name: name.startswith(("cancel", "delete", "end"))):
                exec(SAMPLES[name]["python"], known)
            assert known["lead"].id == lead.id
            assert known["event"].id == event["id"]
            assert known["bot"].id == bot

    await asyncio.to_thread(run)
    assert f"{lead.email} 80\n" in capsys.readouterr().out


async def test_the_curl_samples_of_the_reference_are_answered(anonymous, api_key, workspace, bot):
    lead, conversation = await make.lead(workspace, bot, score=80), await make.conversation(workspace, bot)
    event = (await db.rows("SELECT id FROM event ORDER BY id"))[0]["id"]
    made = await anonymous.post("/v1/exports", json={"type": "leads"}, headers={"Authorization": f"Bearer {api_key}"})
    known = {"lead": lead.id, "conv": conversation, "bot": bot, "evt": event, "exp": made.json()["data"]["id"]}
    shown = reference.described((await anonymous.get("/schema")).json())
    samples = [samples["curl"] for _, found in shown["tags"] for *_, samples in found]
    assert len(samples) == len(SAMPLES)
    for sample in sorted(samples, key=lambda text: "-X DELETE" in text or "/end" in text):
        text = re.sub(r"\b(lead|conv|bot|evt|exp)_0{26}", lambda name: known[name[1]], sample.replace("\\\n", " "))
        text = text.replace("$(uuidgen)", ids.new("once"))
        method, url, headers, body = request(shlex.split(text), {"URL": "http://test", "KEY": api_key})
        answer = await anonymous.request(method, url, headers=headers, content=body)
        assert answer.is_success, (text, answer.text)


async def test_getting_started(environment, workspace, bot, capsys):
    lead = await make.lead(workspace, bot, score=80)
    first, hooks = programs("start")
    await asyncio.to_thread(exec, first, {})
    assert capsys.readouterr().out == f"{lead.email} 80\n"
    there = {"__name__": "hooks"}
    exec(hooks, there)
    body = json.dumps({"event": "ping", "timestamp": "2026-01-02T03:04:05.678Z", "data": {}}).encode()
    secrets = os.environ["SECRET"], signing.new_secret()
    headers = [_signed(body, secret) for secret in secrets]
    assert await asyncio.to_thread(_post_each, there["HTTPServer"], there["Hooks"], body, headers) == [204, 401]
    assert capsys.readouterr().out == "verified ping evt_1\n"


async def test_the_guide_on_testing():
    exec(programs("testing")[0], {})


async def test_the_clients_page(environment, workspace, bot, capsys):
    await make.lead(workspace, bot, score=80)
    await asyncio.to_thread(exec, programs("clients")[0], {})
    assert capsys.readouterr().out.startswith("not_found req_")
    assert (await make.emitted())[-1]["data"]["custom_fields"] == {"stage": "won"}


async def test_a_copy_ends_as_the_original(environment, workspace, bot, tmp_path, monkeypatch):
    """Copied, changed meanwhile, followed by webhooks of which one is missed and others come twice, caught up."""
    url, key = environment
    secret, there = signing.new_secret(), {}
    monkeypatch.chdir(tmp_path)
    loop = asyncio.get_running_loop()
    program = ThreadPoolExecutor(1)  # the program's own thread, to which its connection belongs

    def begin() -> None:
        for part in programs("sync"):
            exec(part, there)

    def ask(name) -> None:
        with Leadwire(key, url) as lw:
            there[name](lw)

    def change(lead_id) -> None:
        with Leadwire(key, url) as lw:
            lw.leads.update(lead_id, score=70)

    def receive(event, number) -> None:
        body = json.dumps(event).encode()
        there["receive"](body, _signed(body, secret, f"evt_{number}"), secret)

    def copied():
        return {row[0]: row[1:] for row in there["database"].execute("SELECT id, email, score, deleted FROM lead")}

    old = [await make.lead(workspace, bot, email=f"{number}@example.com") for number in range(3)]
    with program:
        await loop.run_in_executor(program, begin)
        await loop.run_in_executor(program, ask, "copy")
        assert (await loop.run_in_executor(program, copied)).keys() == {one.id for one in old}
        await leads.update(workspace, old[2].id, LeadPatch(score=33), unchanged={})

        await make.emitted(forget=True)
        await loop.run_in_executor(program, change, old[0].id)
        await erasure.erase_lead(workspace, old[1].id)
        with clock.at(clock.ago(minutes=-10)):  # long after the change that is missed
            new = await make.lead(workspace, bot, email="new@example.com")
        events = [
            (one, number) for number, one in enumerate(await make.emitted()) if one.get("event", "").startswith("lead.")
        ]
        for event in [*events, *reversed(events)]:
            await loop.run_in_executor(program, receive, *event)
        expected = {
            old[0].id: ("0@example.com", 70, 0),
            old[1].id: (None, None, 1),
            old[2].id: ("2@example.com", old[2].score, 0),
            new.id: ("new@example.com", new.score, 0),
        }
        assert await loop.run_in_executor(program, copied) == expected
        for _ in range(2):
            await loop.run_in_executor(program, ask, "catch_up")
            assert await loop.run_in_executor(program, copied) == expected | {old[2].id: ("2@example.com", 33, 0)}
        await loop.run_in_executor(program, there["database"].close)


def _post_each(kind, handler, body, headers):
    """The statuses that a server of this handler answers."""
    with kind(("127.0.0.1", 0), handler) as server, httpx.Client(trust_env=False, timeout=240) as client:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/hooks"
        found = [client.post(url, content=body, headers=one).status_code for one in headers]
        server.shutdown()
        serving.join()
    return found
