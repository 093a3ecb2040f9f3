"""`leadwire listen --pull` as a real process, on a real server of the API."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from leadwire.domain.webhooks import receivers
from tests.client.conftest import base_url  # noqa: F401 - a fixture
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.test_pull import puller  # noqa: F401 - a fixture
from tests.waiting import eventually


def listen(*options):
    command = [sys.executable, "-m", "leadwire", "listen", "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})


async def test_it_fetches_prints_and_acknowledges(workspace, bot, wire, puller, base_url):  # noqa: F811
    token = await receivers.make_token(workspace, puller.id)
    process = listen("--pull", base_url, "--token", token, "--secret", puller.secret)
    try:
        await people(workspace, bot, 1)
        await wire.relay()
        seen = json.loads(await asyncio.to_thread(process.stdout.readline))
        assert (seen["verified"], seen["status"], seen["event"]) == (True, 204, "lead.created")

        async def delivered():
            return await states() == {"delivered": 1}

        await eventually(delivered)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 240) == 0
    finally:
        process.kill()
        await asyncio.to_thread(process.communicate)


async def test_what_it_refuses_it_does_not_acknowledge(workspace, bot, wire, puller, base_url):  # noqa: F811
    token = await receivers.make_token(workspace, puller.id)
    process = listen("--pull", base_url, "--token", token, "--status", "500")
    try:
        await people(workspace, bot, 1)
        await wire.relay()
        assert json.loads(await asyncio.to_thread(process.stdout.readline))["status"] == 500
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 240) == 0
        assert await states() == {"queued": 1}
    finally:
        process.kill()
        await asyncio.to_thread(process.communicate)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pull", "http://127.0.0.1:1"], "--token"),
        (["--pull", "nonsense", "--token", "x"], "needs an address"),
        (["--pull", "BASE", "--token", "x"], "refuses: The receiver's token is not known"),
        (["--pull", "BASE/docs", "--token", "x"], "refuses"),
    ],
)
async def test_what_cannot_work_is_said_in_one_line(options, said, base_url):  # noqa: F811
    process = listen(*(one.replace("BASE", base_url) for one in options))
    _, errors = await asyncio.to_thread(process.communicate)
    assert process.returncode == 1
    assert said in errors
    assert "Traceback" not in errors
