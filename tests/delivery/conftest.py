"""The wire by hand, and somebody to receive."""

import pytest

from leadwire.domain.accounts import changes as accounts
from tests.delivery.wired import Wire
from tests.receiver import Receiver


@pytest.fixture
async def wire(redis):
    async with Wire(redis) as wire:
        yield wire


@pytest.fixture
async def receiver():
    async with Receiver() as receiver:
        yield receiver


@pytest.fixture
async def other_workspace(database: None) -> str:
    return await accounts.create_workspace("Other")
