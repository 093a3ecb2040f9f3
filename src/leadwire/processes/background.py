"""The background process: every kind of job, see `infrastructure.jobs`. No delivery waits for it, nor any request."""

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType

from leadwire import delivery, domain
from leadwire.domain.accounts import reads as accounts
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime


async def background(settings: Settings) -> None:
    find_kinds()
    health = Health(needs_redis=False, checks={"migrations": missing})
    await runtime.run(settings, "background", health, Runner(accounts.suspended).run, role="jobs")


def find_kinds(packages: Iterable[ModuleType] = (domain, delivery)) -> None:
    """Import each module named `jobs` in these packages: a kind that is written there is known."""
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith(".jobs"):
                importlib.import_module(module.name)
