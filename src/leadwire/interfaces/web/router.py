"""Every screen and action: what the modules in `screens/` declare."""

import importlib
import pkgutil
from typing import Final

from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.web import assets, screens
from leadwire.interfaces.web.routes import Declared
from leadwire.interfaces.web.screens import sign_in

_MODULES: Final = [
    importlib.import_module(f"{screens.__name__}.{m.name}") for m in pkgutil.iter_modules(screens.__path__)
]

DECLARED: Final = [one for module in _MODULES for one in vars(module).values() if isinstance(one, Declared)]


def handlers() -> list[HTTPRouteHandler]:
    """What the app serves for the web area."""
    return [assets.route(), *sign_in.open_routes(), *(declared.handler for declared in DECLARED)]
