"""Workspaces, and the two ways into one: API keys and users."""

from typing import Final

from piccolo.columns import JSON, Array, BigInt, Boolean, Bytea, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class Workspace(Table, db=DB, tablename="workspace"):
    """A customer. Every other row belongs to one."""

    id = Text(primary_key=True)
    name = Text()
    created_at = Timestamptz()
    suspended_at = Timestamptz(null=True, default=None)
    deletion_began_at = Timestamptz(null=True, default=None)  # it is suspended, too, and stays so
    networks = Array(Text())  # from which people may use the web area; empty: from any
    quotas = JSON()  # where they differ from the settings, by name
    sso_enforced = Boolean(default=False)  # passwords are for `break_glass` accounts only
    move_id = Text(null=True, default=None)  # while it comes from another installation; for good once it has gone


class UserAccount(Table, db=DB, tablename="user_account"):
    """A person who signs in to the web area. `role` is admin, agent or viewer."""

    id = Text(primary_key=True)
    workspace_id = Text()
    email = Text()
    role = Text()
    password_hash = Text(null=True, default=None)
    totp_secret = Bytea(null=True, default=None)  # sealed; null: the password is enough
    totp_step = BigInt(null=True, default=None)  # of the last code used
    created_at = Timestamptz()
    known_browsers = Array(Text())  # SHA-256 of their cookies, the latest last
    break_glass = Boolean(default=False)  # signs in by password where single sign-on is enforced
    operator = Boolean(default=False)  # sees all workspaces; the command line alone says so


class ApiKey(Table, db=DB, tablename="api_key"):
    """A key to /v1. Only its SHA-256 is stored; `lookup` is the readable part that finds the row."""

    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    lookup = Text()
    hash = Bytea()
    scopes = Array(Text())
    created_at = Timestamptz()
    expires_at = Timestamptz(null=True, default=None)
    revoked_at = Timestamptz(null=True, default=None)
    last_used_at = Timestamptz(null=True, default=None)
    networks = Array(Text())  # from which it may be used; empty: from any


class UserSession(Table, db=DB, tablename="user_session"):
    """One signed-in browser. Only the SHA-256 of its cookie is stored."""

    id = Text(primary_key=True)
    user_id = Text()
    hash = Bytea()
    created_at = Timestamptz()
    seen_at = Timestamptz()
    confirmed_at = Timestamptz()  # when the password was last given
    present_at = Timestamptz(null=True, default=None)  # when it last had the inbox open
    address = Text()
    agent = Text()  # the browser's name for itself
    flash = Text(null=True, default=None)  # what the next page shows once
    provider_id = Text(null=True, default=None)  # null: begun by password
    provider_session = Text(null=True, default=None)  # the provider's sid


class Passkey(Table, db=DB, tablename="passkey"):
    """A person's WebAuthn credential, see `sign_in/changes/passkeys.py`."""

    id = Text(primary_key=True)
    user_id = Text()
    name = Text()
    credential_id = Bytea()
    public_key = Bytea()  # COSE
    sign_count = BigInt()  # of its uses, as the device tells it; 0 where the device does not count
    backed_up = Boolean()  # whether its provider keeps a copy
    transports = Array(Text())
    created_at = Timestamptz()
    last_used_at = Timestamptz(null=True, default=None)  # when the challenge of that use was made


class RecoveryCode(Table, db=DB, tablename="recovery_code"):
    """A code that replaces the second factor once. Gone once it is used."""

    id = Text(primary_key=True)
    user_id = Text()
    hash = Bytea()


class Invitation(Table, db=DB, tablename="invitation"):
    """A one-time link to an account. Gone once it is used."""

    id = Text(primary_key=True)
    workspace_id = Text()
    email = Text(null=True, default=None)  # null: whoever opens it chooses
    role = Text()
    operator = Boolean(default=False)  # of the account that it makes
    hash = Bytea()
    created_at = Timestamptz()
    expires_at = Timestamptz()


class PasswordReset(Table, db=DB, tablename="password_reset"):
    """A one-time link to another password. Gone once it is used or replaced."""

    user_id = Text(primary_key=True)
    hash = Bytea()
    expires_at = Timestamptz()


class IdentityProvider(Table, db=DB, tablename="identity_provider"):
    """An OpenID provider that a workspace's people sign in at."""

    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    issuer = Text()
    client_id = Text()
    client_secret = Bytea(null=True, default=None)  # sealed; null: not set up yet
    domains = Array(Text())  # of the e-mail addresses that it may assert
    trusts_email = Boolean(default=False)  # without email_verified
    default_role = Text(null=True, default=None)  # null: makes no accounts
    role_claim = Text()  # empty: a role stays as it is
    roles = JSON()  # value of that claim -> role
    created_at = Timestamptz()


class UserIdentity(Table, db=DB, tablename="user_identity"):
    """Who somebody is at a provider."""

    id = Text(primary_key=True)
    workspace_id = Text()
    provider_id = Text()
    subject = Text()
    user_id = Text(null=True, default=None)  # null: an admin has removed the account
    created_at = Timestamptz()


class SignOnUsed(Table, db=DB, tablename="sign_on_used"):
    """Something that a provider or a browser may send once. Only its SHA-256 is stored."""

    hash = Bytea(primary_key=True)
    provider_id = Text()
    until = Timestamptz()


class AuditEntry(Table, db=DB, tablename="audit_entry"):
    """Who did what to which object, from where."""

    id = Text(primary_key=True)
    workspace_id = Text(null=True, default=None)  # null: about the installation
    at = Timestamptz()
    actor = Text()
    action = Text()
    subject = Text()
    detail = Text()
    address = Text()
    number = BigInt(null=True, default=None)  # in its chain; null: not chained yet
    hash = Bytea(null=True, default=None)


class AuditChain(Table, db=DB, tablename="audit_chain"):
    """How far the audit log of a workspace, or of the installation, is chained."""

    id = Text(primary_key=True)
    workspace_id = Text(null=True, default=None)
    sealed = Bytea()  # see `audit/chain.py`


HAS_FACTOR: Final = "(u.totp_secret IS NOT NULL OR EXISTS (SELECT 1 FROM passkey p WHERE p.user_id = u.id))"
"""SQL: whether the user_account `u` has a second factor."""

SEALED: Final = (UserAccount.totp_secret, AuditChain.sealed, IdentityProvider.client_secret)
"""Columns that `secret_box` seals."""
