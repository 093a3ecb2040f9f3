"""The addresses that deliveries come from, for whoever has a firewall. `receiver/published.py` is for programs."""

from leadwire.domain.webhooks import reads
from leadwire.interfaces.web.page_context import PageResponse
from leadwire.interfaces.web.public_pages import Visit, open_page


@open_page("/webhooks/addresses")
async def addresses(visit: Visit) -> PageResponse:
    return visit.render("public/addresses.html", addresses=reads.egress_addresses())
