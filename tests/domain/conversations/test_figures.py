"""How soon people answered."""

from datetime import timedelta

import pytest

from leadwire.domain.conversations import figures
from leadwire.domain.conversations.changes import inbox
from leadwire.infrastructure import clock
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures

DAY = timedelta(days=1)


@pytest.mark.parametrize("colleague", [0, 1])
async def test_nobody_asked_for_a_person_where_an_operator_came_by_themselves(
    workspace,
    visitor,  # noqa: F811
    operators,  # noqa: F811
    colleague,
):
    await visitor.says("what?")
    if colleague:
        await inbox.assign(workspace, visitor.conversation, operators[0], operators[1])
    else:
        await inbox.claim(workspace, visitor.conversation, operators[0])
    found = await figures.responses(workspace, None, clock.now() - DAY, clock.now() + DAY)
    assert (found.asked, found.answered) == (0, 0)
