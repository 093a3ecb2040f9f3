"""The list of every screen and action."""

from typing import Final

from litestar.handlers import HTTPRouteHandler

from leadwire.pages import assets
from leadwire.pages.routes import Declared
from leadwire.pages.screens import (
    account,
    audit_log,
    conversations,
    dead_letters,
    deliveries,
    door,
    endpoints,
    keys,
    lead,
    leads,
    overview,
    privacy,
    secrets,
    setup,
    system,
    team,
)

DECLARED: Final[list[Declared]] = [
    door.confirm,
    door.confirmed,
    door.sign_out,
    overview.overview,
    account.account,
    account.change_password,
    account.end_session,
    conversations.conversations,
    conversations.conversation,
    leads.leads,
    leads.export,
    lead.lead,
    lead.edit,
    lead.erase,
    lead.export,
    keys.keys,
    keys.create,
    keys.roll,
    keys.revoke,
    endpoints.endpoints,
    setup.address,
    setup.events,
    setup.create,
    setup.secret,
    setup.test,
    setup.enable,
    endpoints.endpoint,
    endpoints.configure,
    endpoints.own_headers,
    endpoints.enable,
    endpoints.disable,
    endpoints.delete,
    endpoints.test,
    secrets.secret,
    secrets.stage,
    secrets.promote,
    secrets.discard,
    deliveries.deliveries,
    deliveries.delivery,
    deliveries.redrive,
    deliveries.live,
    dead_letters.dead_letters,
    dead_letters.redrive,
    dead_letters.job,
    dead_letters.live,
    dead_letters.step,
    team.team,
    team.invite,
    team.withdraw,
    team.change_role,
    team.remove,
    privacy.privacy,
    privacy.erase,
    audit_log.log,
    system.system,
    system.ledger,
]


def handlers() -> list[HTTPRouteHandler]:
    """What the app serves for the web area."""
    return [assets.route(), *door.open_routes(), *(declared.handler for declared in DECLARED)]
