"""What people are called: kept as they write it, in each workspace that they join."""

import pytest

from leadwire.domain.accounts import changes, joining, reads
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.schema import full_name
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import db

PASSWORD = "four quiet grey horses"


async def called(workspace):
    return [one.called for one in await reads.users(workspace)]


async def test_a_name_is_said_once_and_known_in_the_next_workspace(workspace):
    await team.accept(
        await team.invite(workspace, None, "agent"), "eve@example.org", PASSWORD, Browser("a"), "Eve Adams"
    )
    login = await db.value("SELECT login_id FROM user_account")
    other = await changes.create_workspace("Other")
    async with db.transaction():
        user = await joining.join(await team.invite(other, None, "agent"), login, "a")
    assert await called(workspace) == await called(other) == ["Eve Adams"]
    assert await team.rename(other, user, " ") is None
    assert (await called(workspace), await called(other)) == (["Eve Adams"], ["eve@example.org"])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", None),
        (" \n\0", None),
        ("Ada\t King\u202e", "Ada King"),
        ("x" * 61, "x" * 60),
        ("Zoë Łuczak", "Zoë Łuczak"),
        ("علی\u200cرضا", "علی\u200cرضا"),
        ("山田\u3000太郎", "山田 太郎"),
    ],
)
def test_a_name_is_one_short_line(text, kept):
    assert full_name(text) == kept
