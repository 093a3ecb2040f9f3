"""`leadwire workspaces`, from making a customer to deleting it."""

import asyncio
import json

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import refused, run, settings_on


@pytest.fixture
def command(servers, database):
    """Run `leadwire workspaces` on the tests' database."""

    async def ran(*arguments):
        return await asyncio.to_thread(run, "workspaces", *arguments, **settings_on(servers))

    return ran


async def test_a_customer_comes_and_goes(command, tmp_path):
    created = json.loads((await command("create", "Acme", "--json")).stdout)
    made = created["id"]
    assert (created["name"], created["link"].startswith("/join/")) == ("Acme", True)
    await endpoint(made, "http://127.0.0.1:9001/")
    assert (await command("suspend", made)).returncode == 0
    assert (await command("list")).stdout.split() == [made, "suspended", "Acme"]
    assert json.loads((await command("resume", made, "--json")).stdout)["changed"]
    assert (await command("quota", made, "endpoints", "1")).returncode == 0
    shown = (await command("show", made)).stdout
    assert [line.split() for line in shown.splitlines() if line.startswith(("leads", "endpoints"))] == [
        ["leads", "0", "about", "0.0", "MB"],
        ["endpoints", "1", "of", "1", "(its", "own", "quota)", "NEAR", "ITS", "END"],
    ]
    for changed in (True, False):
        await db.rows("UPDATE workspace SET sso_enforced = $1", changed)
        assert json.loads((await command("allow-passwords", made, "--json")).stdout)["changed"] is changed
    assert (await command("export", made, "--to", str(tmp_path / "acme.ndjson"))).returncode == 0
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "acme.ndjson").read_text().splitlines()]
    assert [*dict.fromkeys(kinds)] == ["workspace", "invitation", "audit_entry", "endpoint", "end"]
    assert json.loads((await command("delete", made, "--yes", "Acme", "--json")).stdout)["deleted"]
    imported = (await command("import", str(tmp_path / "acme.ndjson"))).stdout
    assert imported.startswith(
        f"{made} is here: 0 leads, 0 conversations, 0 events, 1 endpoints. Endpoints are disabled"
    )
    assert f"a workspace {made} already" in refused(await command("import", str(tmp_path / "acme.ndjson")))
    assert json.loads((await command("delete", made, "--yes", "Acme", "--json")).stdout)["deleted"]
    assert (await command("list")).stdout == "No workspaces yet.\n"
    assert "no workspace" in refused(await command("show", made))


async def test_what_cannot_be_done_is_one_line_and_changes_nothing(command, workspace, bot, tmp_path):
    before = await make.stored()
    (tmp_path / "mine").write_text("mine\n")
    for arguments, said in (
        (("create", " "), "needs a name"),
        (("suspend", "ws_x"), "no workspace ws_x"),
        (("resume", "ws_x"), "no workspace ws_x"),
        (("delete", "ws_x", "--yes", "x"), "no workspace ws_x"),
        (("delete", workspace), "--yes"),
        (("delete", workspace, "--yes", "Tset"), "nothing was deleted"),
        (("quota", workspace, "bots"), "--default"),
        (("quota", workspace, "bots", "1", "--default"), "--default"),
        (("quota", workspace, "cars", "1"), "'cars' is not one of"),
        (("quota", workspace, "bots", "-1"), "'-1'"),
        (("export", "ws_x", "--to", str(tmp_path / "x")), "no workspace ws_x"),
        (("export", workspace, "--to", str(tmp_path / "mine")), "File exists"),
        (("import", str(tmp_path / "mine")), "no whole export"),
    ):
        assert said in refused(await command(*arguments)), arguments
    after = await make.stored()
    after["epoch"] = before["epoch"]  # every command notes which server it is
    assert after == before
    assert len(await reads.workspace_list()) == 1


async def test_a_map_names_the_keys_that_are_in_use_and_the_host(servers, workspace):
    made = [await accounts.create_key(workspace, "CRM") for _ in range(3)]
    await accounts.revoke_key(workspace, made[0][0])
    expected = {key.split("_")[1]: "cell-a" for _, key in made[1:]}

    async def map_(*arguments, **settings):
        return await asyncio.to_thread(run, "workspaces", "map", *arguments, **settings_on(servers), **settings)

    printed = (await map_("cell-a")).stdout
    assert dict(line.split() for line in printed.splitlines()) == expected
    assert json.loads((await map_("cell-a", "--json")).stdout) == expected
    public = {"PUBLIC_URL": "https://A.example.com:8443"}
    assert (await map_("cell-a", "--hosts", **public)).stdout == "a.example.com cell-a\n"
    assert "LEADWIRE_PUBLIC_URL is not set" in refused(await map_("cell-a", "--hosts"))
    assert "no name of a backend" in refused(await map_("cell a"))
