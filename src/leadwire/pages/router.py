"""The list of every screen and action."""

from typing import Final

from litestar.handlers import HTTPRouteHandler

from leadwire.pages import assets
from leadwire.pages.routes import Declared
from leadwire.pages.screens import account, conversations, door, keys, lead, leads, overview

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
]


def handlers() -> list[HTTPRouteHandler]:
    """What the app serves for the web area."""
    return [assets.route(), *door.open_routes(), *(declared.handler for declared in DECLARED)]
