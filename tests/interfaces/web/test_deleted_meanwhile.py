"""Whoever changes something that refers to what is deleted at that moment is told so: it is no fault of ours."""

import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import db
from tests import make
from tests.delivery.interleaved import apart, ended_or_blocked


async def conversation(workspace):
    made = await make.conversation(workspace, await bots.create(workspace, "Bot"))
    await db.rows("UPDATE conversation SET status = 'handoff', handoff_requested_at = now() WHERE id = $1", made)
    return made


DELETED = (409, "Something that this refers to has just been deleted.")


@pytest.mark.parametrize(
    ("path", "fields", "told"),
    [
        ("/account/notices", {"boxes": "kind waiting", "kind": "waiting"}, DELETED),
        ("/leads/views", {"name": "Mine"}, DELETED),
        ("/inbox/{}/claim", {}, (403, "You have just been removed, or do not answer visitors any more.")),
        ("/inbox/{}/seen", {"seq": "0"}, DELETED),
    ],
)
async def test_somebody_who_is_removed_amid_their_own_request_is_told(workspace, admin, agent, path, fields, told):
    path = path.format(await conversation(workspace))
    user = await db.value("SELECT id FROM user_account WHERE email = 'grace@example.org'")
    async with db.transaction():
        await team.remove_user(workspace, user)
        request = apart(agent.post(path, data={"form_token": agent.token, **fields}))
        await ended_or_blocked(request)
    response = await request
    assert (response.status_code, told[1] in response.text) == (told[0], True)
