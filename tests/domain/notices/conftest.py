"""People who may be told."""

from collections.abc import Awaitable, Callable

import pytest

from leadwire.infrastructure import clock, db, ids

Person = Callable[..., Awaitable[str]]


@pytest.fixture
def person(database: None) -> Person:
    """Make somebody with an account. Return their id."""

    async def make(workspace: str, role: str, email: str = "") -> str:
        user = ids.new("user")
        await db.rows(
            "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $3, $4, $5)",
            user, workspace, email or f"{user}@example.com", role, clock.now(),
        )  # fmt: skip
        return user

    return make


@pytest.fixture
async def ada(workspace: str, person: Person) -> str:
    """The admin of the workspace."""
    return await person(workspace, "admin", "ada@example.com")
