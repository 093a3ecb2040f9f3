"""What a page of a list costs of its key's rate."""

import pytest

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import workspaces
from leadwire.infrastructure import db
from tests import make

MANY = """
INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, custom_fields, created_at, updated_at)
SELECT 'lead_' || lpad(n::text, 26, '0'), workspace_id, bot_id, conversation_id, n || '@example.com', '{}',
    created_at, updated_at FROM lead, generate_series(1, 10000) n WHERE id = $1"""


@pytest.fixture
async def waits(client, workspace, bot, no_refill):
    """Asks for a page, of a list of 10,001 leads; the seconds until the key has another request, of one a minute."""
    await db.rows(MANY, (await make.lead(workspace, bot)).id)
    await workspaces.set_quota(workspace, "requests", 1)
    reads._known.clear()

    async def ask(query: str) -> int:
        assert (await client.get(f"/v1/leads?{query}")).status_code == 200
        refused = await client.get("/v1/leads")
        assert refused.status_code == 429
        return int(refused.headers["Retry-After"])

    return ask


async def test_ten_thousand_rows_that_a_page_skips_count_as_a_request(waits):
    assert await waits("page=2001&limit=5") > 60


@pytest.mark.parametrize("query", ["page=2000&limit=5", "page=1000000&limit=100", "limit=1&cursor=first"])
async def test_other_pages_are_one_request(waits, query):
    assert await waits(query) <= 60
