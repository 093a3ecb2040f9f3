"""One customer's flood is no wait for the others."""

from leadwire.delivery.relay import fan_out
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint


async def test_an_import_of_one_workspace_is_no_wait_for_the_others(workspace, bot, wire, receiver):
    """Every workspace has its share of a batch, however much one has piled up, and all of it goes in the end."""
    others = [await accounts.create_workspace(f"Other {n}") for n in range(25)]  # more than a batch takes
    for owner in (workspace, *others):
        await endpoint(owner, receiver.url)
    for n in range(30):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    for owner in others:
        await make.lead(owner, await bots.create(owner, "Bot"))
    told: dict[str, int] = {}
    after, batches = "", 0
    while (fanned := await fan_out.fan_out(after, 40)).events or after:
        after, batches = fanned.after, batches + 1
        counted = await db.rows("SELECT workspace_id, count(*) FROM every_delivery GROUP BY 1")
        told = {row["workspace_id"]: row["count"] for row in counted}
        if batches == 2:  # once round
            assert set(told) == {workspace, *others}
            assert told[workspace] < 30
    assert told == {workspace: 30, **dict.fromkeys(others, 1)}


async def test_a_batch_is_bounded_in_deliveries_and_not_in_events(workspace, bot, wire, receiver):
    for _ in range(5):
        await endpoint(workspace, receiver.url)
    for n in range(7):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    batches = [await fan_out.fan_out("", 15) for _ in range(4)]
    assert [batch.waiting for batch in batches] == [15, 15, 5, 0]
    assert (await fan_out.fan_out("", 1)).events == 0
    await make.lead(workspace, bot, email="last@example.com")
    assert (await fan_out.fan_out("", 1)).waiting == 5, "one event is always made, however many want it"
