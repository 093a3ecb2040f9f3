"""`leadwire api`, on a real server of the API; `trigger`; completion."""

import asyncio
import json
import subprocess

import pytest

from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.loop import Deliverer
from leadwire.domain.conversations import changes as conversations
from tests import make
from tests.client.conftest import base_url  # noqa: F401 - a fixture
from tests.delivery.wired import endpoint
from tests.flows.commands import COMMAND, environment, refused, run


@pytest.fixture
def api(base_url, api_key):  # noqa: F811
    """Run it with a key."""

    async def ran(*arguments, **settings):
        return await asyncio.to_thread(run, "api", *arguments, **{"URL": base_url, "API_KEY": api_key, **settings})

    return ran


async def test_an_answer_is_printed(api, workspace, bot):
    lead = (await make.lead(workspace, bot)).id
    done = await api("get", "/v1/leads", "-q", "limit=5")
    assert done.returncode == 0, done.stderr
    assert [one["id"] for one in json.loads(done.stdout)["data"]] == [lead]
    assert '\n  "data": [\n' in done.stdout
    assert "\n" not in (await api("get", f"/v1/leads/{lead}", "--json")).stdout.rstrip()


async def test_a_change_with_a_body_from_a_file(api, workspace, bot, tmp_path):
    lead = (await make.lead(workspace, bot)).id
    (tmp_path / "change.json").write_text('{"score": 80}')
    done = await api(
        "patch", f"/v1/leads/{lead}", "-d", f"@{tmp_path / 'change.json'}", "-H", "Idempotency-Key: a1", "-i"
    )
    assert done.stdout.startswith("200 OK\n")
    assert '"score": 80' in done.stdout


async def test_every_page_of_a_list(api, workspace, bot):
    made = {(await make.lead(workspace, bot, email=f"{number}@example.com")).id for number in range(5)}
    done = await api("get", "/v1/leads", "-q", "limit=2", "--all")
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == made
    assert len(done.stdout.splitlines()) == 5


@pytest.mark.parametrize("options", [[], ["--all"]])
async def test_a_terminal_obeys_nothing_that_a_visitor_writes(api, workspace, bot, options):
    talk = (await make.lead(workspace, bot)).conversation_id
    said = "\x9b31m red \x1b[0m and \u00e9"
    await conversations.add_message(workspace, talk, "user", said)
    done = await api("get", f"/v1/conversations/{talk}/messages", *options)
    assert not {"\x9b", "\x1b"} & {*done.stdout}
    assert "\\u009b31m red \\u001b[0m and \u00e9" in done.stdout


async def test_an_error_is_printed_and_the_exit_code(api):
    done = await api("get", "/v1/leads", "-q", "limit=none", "--all")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["status"] == 400


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["/v1/leads"], {"API_KEY": ""}, "leadwire keys create"),
        (["/v1/leads"], {"API_KEY": "ü"}, "cannot be sent"),
        (["/v1/leads"], {"URL": "http://127.0.0.1:1"}, "does not answer"),
        (["/v1/leads"], {"URL": "nonsense"}, "cannot be sent"),
        (["/v1/leads", "-q", "limit"], {}, "NAME=VALUE, not limit"),
        (["/v1/leads", "-d", "@/nowhere"], {}, "/nowhere cannot be read"),
    ],
)
async def test_what_cannot_be_sent_is_one_line(api, arguments, settings, said):
    assert said in refused(await api("get", *arguments, **settings))


async def test_a_sample_goes_to_every_endpoint_that_subscribes(workspace, wire, receiver, command):
    wanted = await endpoint(workspace, receiver.url, "lead.created")
    await endpoint(workspace, receiver.url, "lead.updated")
    stop = asyncio.Event()
    working = [
        asyncio.create_task(Relay(wire.redis, wire.settings).run(stop)),
        asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop)),
    ]
    try:
        done = await command("trigger", "lead.created", "--json")
    finally:
        stop.set()
        await asyncio.gather(*working)
    (sent,) = json.loads(done.stdout)
    assert (sent["endpoint_id"], sent["attempt"]["outcome"], done.returncode) == (wanted.id, "delivered", 0)
    assert [(one.event, one.headers["x-service-test"]) for one in receiver.deliveries] == [("lead.created", "true")]


async def test_a_kind_that_nobody_wants(workspace, command):
    assert "no endpoint subscribes to lead.created" in refused(await command("trigger", "lead.created"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    assert "_LEADWIRE_COMPLETE" in run("completion", shell).stdout


def test_commands_complete():
    asked = environment() | {"_LEADWIRE_COMPLETE": "bash_complete", "COMP_WORDS": "leadwire endpo", "COMP_CWORD": "1"}
    done = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "plain,endpoints\n"
