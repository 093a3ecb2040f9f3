"""What every command has in common, and what some print."""

import json

import click
import pytest

from leadwire.__main__ import cli
from leadwire.domain.webhooks import changes
from leadwire_development import preparation
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import refused, run

PROCESSES = {"up", "serve", "relay", "deliver", "background", "prepare", "visitors"}
NEEDING = (
    ("keys", "create", "--name", "crm"), ("keys", "list"), ("users", "invite"), ("status",), ("doctor",), ("ledger",),
    ("endpoints", "create", "--url", "https://example.com/", "--event", "lead.created"),
    ("reseal",), ("serve", "--port", "0"), ("relay",), ("deliver",), ("background",),
)  # fmt: skip


def leaves(group, *path):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from leaves(found, *path, name)
        else:
            yield (*path, name), found


def test_every_command_but_the_processes_has_json():
    without = {path for path, one in leaves(cli) if not any("--json" in parameter.opts for parameter in one.params)}
    assert without == {(name,) for name in PROCESSES} | {("audit", "export")}  # which prints nothing but JSON


@pytest.mark.parametrize("arguments", NEEDING, ids=" ".join)
def test_in_an_empty_directory_nothing_is_started(tmp_path, arguments):
    said = refused(run(*arguments, DATA_DIR=str(tmp_path)))
    assert str(tmp_path) in said
    assert all(word in said for word in ("`leadwire up`", "LEADWIRE_DATABASE_URL", "LEADWIRE_REDIS_URL"))
    assert list(tmp_path.iterdir()) == []


async def test_what_a_command_did_is_one_json_document(command, workspace):
    made = await endpoint(workspace, "http://127.0.0.1:9001/", "lead.created")
    for arguments, document in (
        (("migrate",), {"applied": 0}),
        (("reseal",), {"sealed": 0}),
        (("endpoints", "disable", made.id), {"id": made.id, "enabled": False}),
        (("endpoints", "enable", made.id), {"id": made.id, "enabled": True}),
        (("endpoints", "delete", made.id), {"id": made.id, "deleted": True}),
    ):
        done = await command(*arguments, "--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, document), done.stderr


async def test_an_invitation_is_a_whole_address(command, workspace):
    done = await command("users", "invite", "--json", PUBLIC_URL="https://leads.example.com")
    assert json.loads(done.stdout)["link"].startswith("https://leads.example.com/join/")


async def test_what_is_gone_is_not_called_none(command, workspace, bot):
    made = await endpoint(workspace, "http://127.0.0.1:9001/", "lead.created")
    event = await changes.send_test(workspace, made.id)
    await make.ended(event, made.id, "dead")
    await changes.delete(workspace, made.id)
    done = await command("dead-letters", "show", event)
    assert done.returncode == 0, done.stderr
    assert f"to {made.id} (deleted): dead" in done.stdout
    assert "None" not in done.stdout


async def test_without_a_demo_there_is_a_workspace_and_nothing_in_it(database):
    made = await preparation._some_workspace()
    assert await preparation._some_workspace() == made
    rows = {table: len(found) for table, found in (await make.stored()).items() if found}
    assert [rows.get(table, 0) for table in ("workspace", "bot", "lead", "conversation")] == [1, 0, 0, 0]
