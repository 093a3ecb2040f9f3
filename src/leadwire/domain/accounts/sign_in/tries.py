"""Tries of a password, a code or a link: how often there may be some, and what is noted of those that fail.

Who holds something already (a known browser, a session, a ticket, a one-time link) has 5 tries in 5 minutes of their
own, which nobody else can use up. Strangers have 20 tries in 5 minutes from one address, of which 5 in 15 minutes at
one account from one network, and all strangers together 100 an hour at one account. An IPv6 address is its /64. Whoever
has one often has the whole /56 or /48 around it, so these are counted as well.

Failures are in the audit logs of the workspaces that the login opens. They are gathered, and written some seconds
later, so that no response takes longer for an address that has an account, and a flood of tries makes few entries. What
a process has gathered when it is killed is in its log only.
"""

import asyncio
import contextvars
import ipaddress
from collections import Counter
from collections.abc import Iterable
from typing import Final

from leadwire.domain.accounts.audit import changes as audit
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.errors import RateLimited
from leadwire.infrastructure.rate_limit import RateLimit

FAILED: Final = "user.sign_in_failed"
PER_HOLDER: Final = 5
PER_NETWORK: Final = 5
PER_ACCOUNT: Final = 100

_MOST: Final = {  # tries, in seconds
    "holder": (PER_HOLDER, 300), "address": (20, 300), "/56": (40, 300), "/48": (80, 300),
    "network": (PER_NETWORK, 900), "account": (PER_ACCOUNT, 3600),
}  # fmt: skip
_LIMITS: Final = {
    of: RateLimit(f"sign-in-{of.strip('/')}", most, window=window) for of, (most, window) in _MOST.items()
}
_REFUSAL: Final = (
    "Too many tries. Wait a few minutes, or use a passkey or a browser in which you have signed in before."
)
_EVERY: Final = 5.0  # seconds
_NETWORKS: Final = 100  # that are told apart


# Tries that failed alike, by workspace, e-mail address and what was wrong: how many from each network.
_failed: dict[tuple[str, str, str], Counter[str]] = {}
_writing: set["asyncio.Task[None]"] = set()


async def count(holder: str) -> None:
    """Count one try of who holds what `holder` names. Raise RateLimited."""
    await _take("holder", holder)


async def forgive(holder: str) -> None:
    """The try was right: earlier ones do not count any more."""
    await _LIMITS["holder"].reset(holder)


async def count_stranger(account: str, address: str, holder: str = "") -> None:
    """Count one try at an account from `address`, as `client_network.network` returns it. Raise RateLimited.

    What one limit refuses is not counted by those after it: a single network cannot use up an account's tries. A
    `holder` of something has tries from their network apart: theirs are not those of strangers beside them.
    """
    await _take("address", address)
    for length in (56, 48) if ":" in address else ():
        await _take(f"/{length}", _around(address, length))
    await _take("network", f"{holder or account} {_network(address)}")
    await _take("account", account)


async def forgive_stranger(account: str, address: str, holder: str = "") -> None:
    """The password was right: what was tried from this network at the account does not count any more."""
    await _LIMITS["network"].reset(f"{holder or account} {_network(address)}")


def failed(workspaces: Iterable[str], email: str, why: str, address: str) -> None:
    """Count a failed try at what has accounts in these workspaces. `why`: what was wrong, such as `wrong password`.
    Lines of the log are of the workspace, if it is one.
    """
    concerned = set(workspaces)
    if len(concerned) == 1:
        telemetry.set_workspace(*concerned)
    for workspace in concerned:
        tries = _failed.setdefault((workspace, email, why), Counter())
        tries[address if len(tries) < _NETWORKS else min(tries)] += 1
    if all(task.done() for task in _writing):  # outside of this request, and of any transaction of it
        task = asyncio.get_running_loop().create_task(_write_later(), context=contextvars.Context())
        _writing.add(task)
        task.add_done_callback(_writing.discard)


async def write() -> None:
    """Write what is counted so far. Raise what the database raises; what was not written stays counted."""
    while _failed:
        key = next(iter(_failed))
        (workspace, email, why), tries = key, _failed.pop(key)  # so nobody else writes them meanwhile
        many = f", {tries.total()} tries" if tries.total() > 1 else ""
        others = f" from {len(tries)} networks" if len(tries) > 1 else ""
        entry = audit.Entry(FAILED, email, f"{why}{many}{others}")
        try:
            async with db.transaction():
                await audit.record(workspace, "unknown", entry, min(tries))
        except db.Orphaned:  # the workspace has been deleted
            continue
        except BaseException:
            _failed.setdefault(key, Counter()).update(tries)
            raise


async def _take(of: str, name: str) -> None:
    if not await _LIMITS[of].take_at_once(name):
        telemetry.warn("sign_in.throttled", of=of)
        most, window = _MOST[of]
        raise RateLimited(_REFUSAL, headers={"Retry-After": str(window // most)})


def _network(address: str) -> str:
    """What one customer of a provider has: a /24 of IPv4, a /48 of IPv6."""
    return address if address == "unknown" else _around(address, 48 if ":" in address else 24)


def _around(address: str, length: int) -> str:
    return str(ipaddress.ip_network(address).supernet(new_prefix=length))


async def _write_later() -> None:
    while _failed:
        await asyncio.sleep(_EVERY)
        try:
            await write()
        except Exception as error:  # noqa: BLE001 - the next round tries again
            telemetry.warn("audit.failed", error=error)
