"""Changes of many leads that were stopped."""

import pytest

from leadwire.domain.bulk_changes import changes
from leadwire.domain.leads.reads import LeadSearch
from leadwire.infrastructure import clock, db
from tests import make


class _Dies:
    async def rows(self, **_):
        raise ConnectionError


async def test_nobody_else_is_erased_when_it_goes_on(workspace, bot, monkeypatch):
    """The list shows who has exactly this address; what else contains it was not shown."""
    other = await make.lead(workspace, bot, email="ada@example.community")
    await make.lead(workspace, bot, email="ada@example.com")
    wanted = LeadSearch(q="ada@example.com")
    await changes.begin(workspace, "user_ada", "erase", wanted, clock.iso(clock.now()))
    with monkeypatch.context() as patched:
        patched.setattr(changes, "_END", _Dies())
        with pytest.raises(ConnectionError):
            await changes.step()
    while await changes.step():
        pass
    assert [row["id"] for row in await db.rows("SELECT id FROM lead")] == [other.id]
