"""`leadwire audit`: a log is verified and exported, and what operators do is in it."""

import asyncio
import json

import pytest
from msgspec import structs

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit import heads
from leadwire.domain.accounts.audit.chain import sealed, unsealed
from leadwire.infrastructure import clock, db, secret_box
from leadwire.infrastructure.secret_box import SecretBox
from tests import jobs
from tests.flows.commands import refused, run, settings_on
from tests.interfaces.cli.conftest import KEY
from tests.interfaces.web.conftest import signed_in


@pytest.fixture
def command(servers, database):
    async def ran(*arguments):
        return await asyncio.to_thread(run, *arguments, **settings_on(servers, SECRET_KEY=KEY))

    return ran


async def noted(workspace, *details):
    for detail in details:
        async with db.transaction():
            await audit.record(workspace, "ada@example.org", audit.Entry("thing.done", "", detail))
    await jobs.run("audit.chain")


async def test_a_changed_row_is_found(command, workspace):
    await noted(workspace, *"abc")
    empty = await command("audit", "verify", "--json")
    assert [one["entries"] for one in json.loads(empty.stdout)["chains"]] == [0, 3]
    assert "installation  no entries\n" in (await command("audit", "verify")).stdout
    await noted(None, "x")
    sound = await command("audit", "verify")
    assert (sound.returncode, sound.stdout.splitlines()) == (
        0,
        [
            "installation  1 entries are as they were written, from 1 to 1",
            f"{workspace}  3 entries are as they were written, from 1 to 3",
        ],
    )
    await db.rows("UPDATE audit_entry SET detail = 'nothing' WHERE detail = 'b'")
    broken = await command("audit", "verify", "--workspace", workspace)
    assert broken.returncode == 1
    assert broken.stdout.startswith(f"{workspace}  BROKEN: entry 2 (aud_")
    document = json.loads((await command("audit", "verify", "--json")).stdout)
    assert [(one["chain"], bool(one["fault"])) for one in document["chains"]] == [
        ("installation", False),
        (workspace, True),
    ]
    assert not document["intact"]
    assert "no workspace" in refused(await command("audit", "verify", "--workspace", "ws_x"))


async def test_heads_of_the_log_are_compared(command, workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(secret_box, "get", lambda: SecretBox((KEY,)))
    await noted(workspace, *"abc")
    seal = await db.value("SELECT sealed FROM audit_chain")
    kept = heads.signed(unsealed(workspace, seal))
    file = tmp_path / "log"
    file.write_text(f'{{"event":"audit.head","head":"{kept}"}}\nsomething else\n')
    assert (await command("audit", "verify", "--head", str(file))).returncode == 0
    await db.rows("DELETE FROM audit_entry WHERE number = 3")
    await db.rows("UPDATE audit_chain SET sealed = $1", sealed(structs.replace(unsealed(workspace, seal), last=2)))
    broken = await command("audit", "verify", "--head", str(file))
    assert broken.returncode == 1
    file.write_text(kept.replace(workspace, "ws_gone"))
    forged = await command("audit", "verify", "--head", str(file))
    assert (forged.returncode, forged.stdout.splitlines()[-1]) == (
        1, "1 heads are not signed with a key of LEADWIRE_SECRET_KEY",
    )  # fmt: skip
    file.write_text(heads.signed(structs.replace(unsealed(workspace, seal), chain="ws_gone")))
    gone = await command("audit", "verify", "--head", str(file))
    assert (gone.returncode, gone.stdout.splitlines()[-1]) == (
        1, "ws_gone  BROKEN: a head of it was kept, and it is gone",
    )  # fmt: skip
    file.write_text("nothing")
    assert "there is no head in" in refused(await command("audit", "verify", "--head", str(file)))


async def test_an_export_goes_on_after_a_number_and_begins_at_a_time(command, workspace):
    with clock.at(clock.parse("2026-01-02")):
        await noted(workspace, *"ab")
    await noted(workspace, "c")
    await noted(None, "x")

    async def exported(*options):
        result = await command("audit", "export", *options)
        assert result.returncode == 0, result
        return [json.loads(line)["detail"] for line in result.stdout.splitlines()]

    assert await exported() == ["a", "b", "c"]
    assert await exported("--after", "1") == ["b", "c"]
    assert await exported("--since", "2026-01-03") == ["c"]
    assert await exported("--installation") == ["x"]
    assert "--since" in refused(await command("audit", "export", "--since", "yesterday"))


async def test_an_export_makes_no_workspace(command):
    assert "no workspace yet" in refused(await command("audit", "export"))
    assert await db.value("SELECT count(*) FROM workspace") == 0


async def test_what_operators_change_is_in_the_log(command, workspace):
    async with signed_in(workspace, "admin", "ada@example.org"), signed_in(workspace, "agent", "bo@example.org"):
        pass
    key = json.loads((await command("keys", "create", "--name", "CRM", "--scope", "leads:read", "--json")).stdout)["id"]
    rolled = json.loads((await command("keys", "roll", key, "--overlap", "1h", "--json")).stdout)["id"]
    assert (await command("keys", "revoke", rolled)).returncode == 0
    assert (await command("users", "remove", "bo@example.org")).returncode == 0
    found = await db.rows("SELECT action, subject, detail FROM audit_entry WHERE actor = 'operator' ORDER BY id")
    assert [tuple(row) for row in found if row["action"] != "user.invited"] == [
        ("api_key.created", key, "name: CRM; scopes: leads:read; expires: never; networks: any"),
        ("api_key.rolled", key, f"key: {key} -> {rolled}; ends: 1h"),
        ("api_key.revoked", rolled, ""),
        ("user.removed", "bo@example.org", ""),
    ]
