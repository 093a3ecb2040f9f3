"""A second customer."""

import pytest

from leadwire.domain.accounts import changes as accounts


@pytest.fixture
async def other_workspace(database: None) -> str:
    return await accounts.create_workspace("Other")
