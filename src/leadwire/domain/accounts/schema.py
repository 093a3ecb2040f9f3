"""Accounts as other code sees them: roles, who is signed in, who calls the API, what is listed. Pure."""

from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from msgspec import Struct

from leadwire.infrastructure import clock, settings
from leadwire.infrastructure.unseen import UNSEEN

Role = Literal["viewer", "agent", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""A viewer looks, an agent works with leads and conversations, an admin does all. Each may do what the previous may."""

Quota = Literal[
    "endpoints", "host_endpoints", "bots", "bot_versions", "faq_entries", "flow_bytes", "users", "api_keys", "requests"
]
"""What a workspace may have a limited number of. `requests` are those of each API key in a minute."""

State = Literal["active", "suspended", "being deleted", "moving", "moved"]
"""Of a workspace."""

SOON: Final = timedelta(days=30)
"""How long before its end people are told of a key."""
CONFIRMED: Final = timedelta(minutes=10)
"""How long secrets may be shown after the password was given."""


def full_name(text: str) -> str | None:
    """A person's name as they wrote it: one line of at most 60 characters. None for nothing."""
    return " ".join(UNSEEN.sub(" ", text).split())[:60].strip() or None


def has_role(role: str, needed: str) -> bool:
    """Whether `role` is at least `needed`. False when either is unknown."""
    ranks: dict[str, int] = {name: rank for rank, name in enumerate(ROLES)}
    return role in ranks and needed in ranks and ranks[role] >= ranks[needed]


class Person(Struct, frozen=True):
    """Who is signed in: their login, the account that is open, the session they use and where they are."""

    login_id: str
    user_id: str
    """The account: who they are in this workspace."""
    email: str
    name: str | None
    role: Role
    workspace: str
    workspace_name: str
    session_id: str
    confirmed_at: datetime
    flash: str | None
    made_operator: bool
    """Whether the command line has made them one."""
    second_factor: bool
    """Whether they have one: an authenticator app, a passkey."""
    provider: str | None
    """The provider that they came from; None: they gave a password."""
    networks: list[str]
    """From where the workspace's web area may be used; empty: from anywhere."""
    elsewhere: list[tuple[str, str]]
    """Their other accounts that this session may open, each with the name of its workspace."""
    address: str
    form_token: str
    """Proof, inside a form, that the form came from a page of this session."""

    @property
    def called(self) -> str:
        """Their name, or else their address."""
        return self.name or self.email

    @property
    def operator(self) -> bool:
        """Whether they see all workspaces: an admin who was made an operator and whom the setting, if any, names."""
        named = settings.get().operators
        return self.made_operator and self.role == "admin" and (not named or self.email in named)

    @property
    def lacks_second_factor(self) -> bool:
        """Whether they must set one up first."""
        required = settings.get().second_factor
        if self.provider:  # which asks for what it asks for
            return False
        return not self.second_factor and (required == "everybody" or (required == "admins" and self.role == "admin"))

    @property
    def confirmed(self) -> bool:
        """Whether the password was given recently enough to be shown a secret."""
        return self.confirmed_at > clock.now() - CONFIRMED


class Caller(Struct, frozen=True):
    """Who calls the API: the key that was used, its workspace and what it may do."""

    key_id: str
    workspace: str
    scopes: frozenset[str]
    expires_at: datetime | None
    suspended: bool = False
    """Whether the workspace is."""
    requests: int | None = None
    """How many the workspace may send with each key in a minute, where that is not what the settings say."""
    networks: tuple[str, ...] = ()
    """From where the key may be used; empty: from anywhere."""


class Workspace(Struct, frozen=True):
    """A workspace."""

    id: str
    """Starts with `ws_`."""
    name: str
    """Its name."""


class Limits(Struct, frozen=True):
    """How much a key may do. Null: as much as it likes."""

    requests_per_minute: int | None
    """Requests in a minute."""
    burst: int | None
    """How many of them at once."""


class Me(Struct, frozen=True):
    """An API key, as whoever uses it sees it."""

    id: str
    """Starts with `key_`."""
    name: str
    """What it was named when it was made."""
    scopes: list[str]
    """What it may do: with a scope to write also the one to read."""
    workspace: Workspace
    """Whose leads and conversations it sees."""
    limits: Limits
    """How much it may do."""
    created_at: str
    """When it was made."""
    expires_at: str | None
    """When it ends; `null` for never."""


class KeyListed(Struct, frozen=True):
    """An API key without its secret."""

    id: str
    workspace_id: str
    name: str
    starts_with: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    networks: list[str]
    """From where it may be used; empty: from anywhere."""

    @property
    def ends_soon(self) -> bool:
        """Whether it ends within 30 days, and has not ended."""
        return self.lasts_beyond(clock.now()) and not self.lasts_beyond(clock.now() + SOON)

    @property
    def ended(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and clock.parse(self.expires_at) <= clock.now()

    def lasts_beyond(self, at: datetime) -> bool:
        """Whether it is in use, and still will be then."""
        return not self.revoked_at and (self.expires_at is None or clock.parse(self.expires_at) > at)


class UserListed(Struct, frozen=True):
    """A person with an account."""

    id: str
    workspace_id: str
    email: str
    role: str
    created_at: str
    operator: bool
    name: str | None

    @property
    def called(self) -> str:
        """Their name, or else their address."""
        return self.name or self.email


class WorkspaceListed(Workspace, frozen=True):
    """A workspace in a list."""

    state: State
    created_at: str
