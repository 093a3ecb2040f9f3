"""What `up` sets up, without any of its processes."""

import asyncio

import pytest

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.stack import Stack
from leadwire_development.supervisor import Child
from tests.flows.commands import free_port
from tests.serving import on_socket


async def ready(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


async def test_the_api_itself_is_waited_for_and_not_what_is_in_front_of_it(tmp_path):
    settings = Settings(data_dir=tmp_path, public_url="https://leads.invalid")
    async with on_socket(ready) as address:
        await Stack(settings, "127.0.0.1", int(address.rpartition(":")[2]), demo=False)._ready([])


class Service(Child):
    """A process that lives until it is asked for the third time."""

    asked = 0

    def has_died(self):
        self.asked += 1
        return self.asked > 2


async def test_it_waits_while_the_processes_live_says_for_what_and_ends_when_one_died(tmp_path, capsys, monkeypatch):
    async def starting(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b"the tables are being made"})

    monkeypatch.setattr("leadwire_development.stack._SAID_EVERY", 0)
    (tmp_path / "serve.log").write_text("out of memory\n")
    serve = Service("serve", [], {}, tmp_path)
    async with on_socket(starting) as address:
        stack = Stack(Settings(data_dir=tmp_path), "127.0.0.1", int(address.rpartition(":")[2]), demo=False)
        with pytest.raises(OperatorError, match="serve died: out of memory"):
            await stack._ready([serve])
    assert capsys.readouterr().out.count(f"Waiting for the API at {address}: the tables are being made") == 2


async def test_an_api_that_does_not_listen_yet_is_still_starting(tmp_path):
    stack = Stack(Settings(data_dir=tmp_path), "127.0.0.1", free_port(), demo=False)
    assert stack._refusal() == "it is still starting"


async def test_the_receiver_of_the_demo_is_waited_for_as_the_api_is(tmp_path):
    """What was due at once was refused, and sent a minute later."""
    async with on_socket(ready) as address:
        stack = Stack(Settings(data_dir=tmp_path), "127.0.0.1", int(address.rpartition(":")[2]), demo=True)
        stack._receiver = free_port()
        assert await asyncio.to_thread(stack._refusal) == "it is still starting"
        stack._receiver = stack._local_address[1]
        assert await asyncio.to_thread(stack._refusal) is None
