"""Failed sign-ins are in the audit log of the account's workspace, and only there."""

import asyncio

import pytest

from leadwire.domain.accounts import changes
from leadwire.domain.accounts.sign_in import changes as sign_in
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Invalid
from tests.interfaces.web.conftest import signed_in

FOUND = "SELECT workspace_id, actor, subject, detail, address FROM audit_entry WHERE action = 'user.sign_in_failed'"


@pytest.fixture
async def ada(workspace, monkeypatch):
    monkeypatch.setattr(tries, "_EVERY", 3600.0)  # nothing is written by itself, however long a test takes
    async with signed_in(workspace, "admin", "ada@example.org"):
        yield workspace
    for task in tries._writing:
        task.cancel()


async def failed(email: str, address: str) -> None:
    with pytest.raises(Invalid):
        await sign_in.sign_in(email, "wrong", Browser(address))
    await tries.forgive(email)


async def test_tries_that_failed_alike_are_one_entry(ada):
    for number in range(3):
        await failed("Ada@example.org ", f"192.0.{number}.0/24")
    assert await db.rows(FOUND) == []  # not while somebody waits for the response
    await tries.write()
    (entry,) = await db.rows(FOUND)
    assert tuple(entry) == (
        ada,
        "unknown",
        "ada@example.org",
        "wrong password, 3 tries from 3 networks",
        "192.0.0.0/24",
    )
    await tries.write()
    await failed("ada@example.org", "192.0.2.0/24")
    await tries.write()
    assert [row["detail"] for row in await db.rows(f"{FOUND} ORDER BY id")][1:] == ["wrong password"]


async def test_two_that_write_at_once_write_each_try_once(ada):
    """The later one found in its list what the other had written, and ended in KeyError."""
    for why in ("wrong password", "wrong code"):
        tries.failed([ada], "ada@example.org", why, "192.0.2.0/24")
    await asyncio.gather(tries.write(), tries.write())
    assert sorted(row["detail"] for row in await db.rows(FOUND)) == ["wrong code", "wrong password"]


async def test_an_unknown_address_leaves_nothing(ada):
    await failed("eve@example.org", "192.0.2.0/24")
    await tries.write()
    assert await db.rows(FOUND) == []


async def test_they_are_written_by_themselves(ada, monkeypatch):
    monkeypatch.setattr(tries, "_EVERY", 0.0)
    await failed("ada@example.org", "192.0.2.0/24")
    await asyncio.gather(*tries._writing)  # if it has not ended yet
    assert len(await db.rows(FOUND)) == 1


async def test_what_cannot_be_written_stays_counted(ada, monkeypatch):
    async def broken(*_: object) -> None:
        tries.failed([ada], "ada@example.org", "wrong password", "192.0.2.0/24")
        raise OSError

    await failed("ada@example.org", "192.0.2.0/24")
    with monkeypatch.context() as patched:
        patched.setattr(tries.audit, "record", broken)
        with pytest.raises(OSError):
            await tries.write()
    await tries.write()
    assert [row["detail"] for row in await db.rows(FOUND)] == ["wrong password, 2 tries"]


async def test_those_of_a_deleted_workspace_are_forgotten(ada):
    other = await changes.create_workspace("Other")
    tries.failed([other], "bo@example.org", "wrong password", "192.0.2.0/24")
    await db.rows("DELETE FROM workspace WHERE id = $1", other)
    await tries.write()
    assert await db.rows(FOUND) == []
