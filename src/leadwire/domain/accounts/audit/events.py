"""The event of an audit log, for endpoints that ask for it: an entry, once it is chained."""

from typing import Final

from leadwire.delivery.envelope import NamedKind
from leadwire.delivery.outbox import Event
from leadwire.domain.accounts.audit.chain import AuditRecorded
from leadwire.infrastructure import clock

KIND: Final[NamedKind] = "audit.recorded"


def recorded(workspace: str, entry: AuditRecorded) -> Event:
    """An entry was chained. All of a workspace have one subject: an endpoint with an order gets them by number."""
    return Event(workspace=workspace, kind=KIND, at=clock.parse(entry.at), data=entry, subject=workspace)
