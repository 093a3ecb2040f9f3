"""Which mails there are, and mail as other code sees it. Pure."""

from datetime import datetime
from typing import Any, Final, Literal, get_args

from msgspec import Struct

AccountKind = Literal[
    "invitation",
    "password_reset",
    "password_changed",
    "new_sign_in",
    "second_factor_on",
    "second_factor_off",
    "app_removed",
    "passkey_added",
    "passkey_removed",
    "recovery_code_used",
    "domain_missing",
    "domain_lost",
]
"""About somebody's account: they wait for these, or have to act, so these go before all others."""

Kind = AccountKind | Literal["endpoints", "dead_letters", "waiting", "mentions", "transcript"]
"""Each is written by the template of its name."""

URGENT: Final[tuple[str, ...]] = get_args(AccountKind)
JOBS: Final = ("account_mail", "mail")
"""The kind of job that sends a mail, by its `priority`."""

State = Literal["waiting", "sent", "dead"]
STATES: Final[tuple[State, ...]] = get_args(State)
Outcome = Literal["sent", "failed", "refused", "suppressed"]
"""Of an attempt. `refused`: the server does not know the recipient. `suppressed`: it had said so before."""


class Contents(Struct):
    """What is sealed of a mail: the values for its template, and the path that ends further mails of its kind."""

    values: dict[str, Any]
    unsubscribe: str = ""


class Claimed(Struct, frozen=True):
    """A mail that is being sent. Until `due_at` nobody else does."""

    id: str
    workspace_id: str
    kind: Kind
    recipient: str
    data: bytes
    attempts: int
    created_at: datetime
    due_at: datetime
    suppressed: bool
    """Whether mail to its recipient was refused before."""


class MailListed(Struct, frozen=True):
    """A mail without its contents."""

    id: str
    workspace_id: str
    kind: str
    recipient: str
    state: State
    attempts: int
    created_at: str
    finished_at: str | None
    error: str | None


class Suppressed(Struct, frozen=True):
    """An address that mail was refused for, and what the mail server said."""

    address: str
    reason: str
    created_at: datetime
