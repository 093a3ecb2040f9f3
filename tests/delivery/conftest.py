"""A second customer, and one who wants order."""

import pytest

from leadwire.domain.accounts import changes as accounts
from tests.delivery.in_order import InOrder
from tests.receiver import Receiver


@pytest.fixture
async def other_workspace(database: None) -> str:
    return await accounts.create_workspace("Other")


@pytest.fixture
async def in_order(workspace: str, bot: str, receiver: Receiver) -> InOrder:
    """It wants to know of changed leads."""
    return await InOrder.of(workspace, bot, receiver, "lead.updated")
