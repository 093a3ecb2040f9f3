"""An endpoint that wants order, leads whose scores change, and the scores that it was told."""

import json
from typing import NamedTuple, Self

from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import Lead, LeadPatch
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from tests import make
from tests.delivery.wired import endpoint
from tests.receiver import Receiver


class InOrder(NamedTuple):
    """`endpoint_id` is told of `receiver`'s events in the order of the changes."""

    workspace: str
    bot: str
    receiver: Receiver
    endpoint_id: str

    @classmethod
    async def of(cls, workspace: str, bot: str, receiver: Receiver, *events: str) -> Self:
        made = await endpoint(workspace, receiver.url, *events)
        await changes.configure(workspace, made.id, EndpointChange(ordered=True))
        return cls(workspace, bot, receiver, made.id)

    async def lead(self) -> Lead:
        """A lead that nobody else is."""
        return await make.somebody(self.workspace, self.bot)

    async def score(self, lead: Lead, *scores: int) -> None:
        """Change a lead's score, once for each."""
        for score in scores:
            await leads.update(self.workspace, lead.id, LeadPatch(score=score), unchanged={})

    def told(self) -> list[int]:
        """The scores that have arrived."""
        return [json.loads(one.body)["data"]["score"] for one in self.receiver.deliveries]
