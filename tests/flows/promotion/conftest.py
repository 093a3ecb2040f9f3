"""Servers of each file's own: a primary to be lost, and its synchronous standby."""

from collections.abc import AsyncIterator

import pytest
from ops.drills.servers import Servers

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from tests.flows.commands import data_directory


@pytest.fixture(scope="module")
def directory():
    with data_directory() as directory:
        yield directory


@pytest.fixture(scope="module")
def servers(directory):
    with services(Settings(data_dir=directory), durable=True) as running:
        yield running


@pytest.fixture(scope="module")
async def pair(servers, directory, settings) -> AsyncIterator[Servers]:
    """The primary and a synchronous standby."""
    pair = Servers(servers, directory)
    await pair.add_standby()
    yield pair
    await pair.close()
