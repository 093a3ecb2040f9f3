"""What a domain's record says, and what follows from it. Pure."""

from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct, structs

PREFIX: Final = "leadwire-domain-verification="
GRACE: Final = timedelta(days=7)
"""How long a proven domain counts after its record was missed first."""
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)

State = Literal["proven", "missing", "taken_over", "unproven"]

FAULTS: Final = {
    "no_record": "The domain has no such record. A new one may take an hour until it is seen here.",
    "other_value": "There is such a record, with another value: of another workspace, or mistyped.",
    "no_domain": "DNS knows no such domain.",
    "name_servers": "The name servers of the domain do not answer, or its DNSSEC is broken. Its record was not seen.",
    "unreachable": "The DNS resolver of this installation did not answer. Your record may be right: check later.",
    "taken": "Another workspace has proven the domain, and its record is still there: remove it, then check.",
    "lost": "Another workspace has proven the domain since, and the record of this one was gone.",
}
"""What a check found, in words."""
_ANSWERS: Final = ("no_record", "other_value", "no_domain")


class Domain(Struct, frozen=True):
    """A domain of a workspace."""

    id: str
    workspace: str
    name: str
    code: str
    created_at: datetime
    proven_at: datetime | None
    missing_since: datetime | None
    """When the record of a proven domain was missed first."""
    taken_over_until: datetime | None
    """Until when it counts without a proof, as a provider relied on it before one was asked for."""
    checked_at: datetime | None
    fault: str

    @property
    def record(self) -> str:
        """The text of the TXT record that proves it."""
        return PREFIX + self.code

    @property
    def ends_at(self) -> datetime | None:
        """When it counts no more, unless its record is found."""
        return self.missing_since + GRACE if self.missing_since else self.taken_over_until

    @property
    def words(self) -> str:
        """What the last check found; empty: the record, or it was not checked yet."""
        return FAULTS.get(self.fault, "")

    def state(self, now: datetime) -> State:
        """Whether it counts, and why."""
        if self.proven_at:
            return "missing" if self.missing_since else "proven"
        return "taken_over" if self.taken_over_until and self.taken_over_until > now else "unproven"

    def fault_in(self, texts: list[str]) -> str:
        """What is wrong with the TXT records of the domain; empty: nothing."""
        if self.record in texts:
            return ""
        return "other_value" if any(text.startswith(PREFIX) for text in texts) else "no_record"

    def checked(self, fault: str, now: datetime) -> "Domain":
        """The domain after a check with this result. Only an answer without the record counts against it."""
        if not fault:
            return structs.replace(
                self, proven_at=self.proven_at or now, missing_since=None, taken_over_until=None, checked_at=now,
                fault="",
            )  # fmt: skip
        missing = self.missing_since or (now if self.proven_at and fault in _ANSWERS else None)
        lost = missing is not None and fault in _ANSWERS and missing + GRACE <= now
        return structs.replace(
            self, proven_at=None if lost else self.proven_at, missing_since=None if lost else missing,
            checked_at=now, fault=fault,
        )  # fmt: skip

    def next_check(self, now: datetime) -> datetime:
        """An hour later while somebody waits for it, or it is about to be lost; else a day."""
        waits = self.missing_since or (not self.proven_at and now - self.created_at < _DAY)
        return now + (_HOUR if waits else _DAY)
