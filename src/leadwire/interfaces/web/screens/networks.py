"""From which networks the people of a workspace may use the web area."""

from leadwire.domain.accounts import networks
from leadwire.domain.accounts.changes import workspaces
from leadwire.interfaces.http import client_network
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen


@screen("/team/networks", role="admin")
async def allowed(context: PageContext) -> PageResponse:
    """The networks, and the form for others."""
    address = client_network.address(context.request.scope)
    return await context.render("team/networks.html", allowed=context.me.networks, address=address)


@action("/team/networks", shown_on=allowed, confirmed=True, audit="workspace.networks_changed")
async def save(context: PageContext) -> PageResponse:
    """From the next request on, sessions that exist included."""
    given, present = networks.split(context.form.text("networks")), client_network.address(context.request.scope)
    now = await workspaces.set_networks(context.workspace, given, present)
    context.entry.subject = context.workspace
    context.entry.detail = f"networks: {' '.join(context.me.networks) or 'any'} -> {' '.join(now) or 'any'}"
    word = "Saved. Whoever is elsewhere is refused from now on." if now else "Saved. People may come in from anywhere."
    return context.redirect("/team/networks", word)
