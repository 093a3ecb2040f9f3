"""Failed sign-ins in the audit log of the account's workspace.

They are counted, and written some seconds later, so that no response takes longer for an address that has an account,
and a flood of tries makes few entries. What a process has counted when it is killed is in its log only.
"""

import asyncio
import contextvars
import logging
from typing import Final

from msgspec import Struct

from leadwire.domain.accounts.audit import changes as audit
from leadwire.infrastructure import db, telemetry

ACTION: Final = "user.sign_in_failed"
_EVERY: Final = 5.0  # seconds


class _Tries(Struct):
    """Tries that failed alike."""

    workspace: str
    email: str
    why: str
    addresses: set[str]
    count: int = 0


_counted: dict[tuple[str, str], _Tries] = {}
_writing: set["asyncio.Task[None]"] = set()


def count(workspace: str, email: str, why: str, address: str) -> None:
    """Count a failed try. `why`: what was wrong, such as `wrong password`."""
    tries = _counted.setdefault((email, why), _Tries(workspace, email, why, set()))
    tries.count += 1
    if len(tries.addresses) < 100:
        tries.addresses.add(address)
    if all(task.done() for task in _writing):  # outside of this request, and of any transaction of it
        task = asyncio.get_running_loop().create_task(_write_later(), context=contextvars.Context())
        _writing.add(task)
        task.add_done_callback(_writing.discard)


async def write() -> None:
    """Write what is counted so far. Raise what the database raises; what was not written stays counted."""
    for key, tries in list(_counted.items()):
        many = f", {tries.count} tries" if tries.count > 1 else ""
        others = f" from {len(tries.addresses)} networks" if len(tries.addresses) > 1 else ""
        entry = audit.Entry(ACTION, tries.email, f"{tries.why}{many}{others}")
        del _counted[key]
        try:
            async with db.transaction():
                await audit.record(tries.workspace, "unknown", entry, min(tries.addresses))
        except db.Orphaned:  # the workspace has been deleted
            continue
        except BaseException:
            again = _counted.setdefault(key, tries)
            again.count += tries.count if again is not tries else 0
            raise


async def _write_later() -> None:
    while _counted:
        await asyncio.sleep(_EVERY)
        try:
            await write()
        except Exception as error:  # noqa: BLE001 - the next round tries again
            telemetry.log("audit.failed", level=logging.WARNING, error=error)
