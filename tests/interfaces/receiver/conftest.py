"""An endpoint whose receiver asks for what it is owed."""

import pytest

from leadwire.domain.webhooks import receivers
from tests.delivery.test_numbers import numbered


@pytest.fixture
async def made(workspace, receiver):
    return await numbered(workspace, receiver)


@pytest.fixture
async def asking(workspace, made, anonymous):
    """A client with the token of the endpoint."""
    anonymous.headers["Authorization"] = f"Bearer {await receivers.make_token(workspace, made)}"
    return anonymous
