"""One customer's flood is no wait for the others."""

from leadwire.delivery.relay import fan_out
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint


async def test_an_import_of_one_workspace_is_no_wait_for_the_others(workspace, bot, wire, receiver, monkeypatch):
    """Every workspace has its share of a batch, however much one has piled up, and all of it goes in the end."""
    monkeypatch.setattr(fan_out, "SHARE", 2)
    others = [await accounts.create_workspace(f"Other {n}") for n in range(25)]  # more than a batch takes
    for owner in (workspace, *others):
        await endpoint(owner, receiver.url)
    for n in range(30):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    for owner in others:
        await make.lead(owner, await bots.create(owner, "Bot"))
    told: dict[str, int] = {}
    after, batches = "", 0
    while (fanned := await fan_out.fan_out(after, 4)).events or after:
        after, batches = fanned.after, batches + 1
        counted = await db.rows("SELECT workspace_id, count(*) FROM delivery GROUP BY 1")
        told = {row["workspace_id"]: row["count"] for row in counted}
        if batches == 4:  # twice round, of two kinds and more events each
            assert set(told) == {workspace, *others}
            assert told[workspace] < 30
    assert told == {workspace: 30, **dict.fromkeys(others, 1)}
