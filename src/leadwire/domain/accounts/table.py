"""Workspaces, and the two ways into one: API keys and users. A person has a login, and an account in each workspace."""

from typing import Final

from piccolo.columns import JSON, Array, BigInt, Boolean, Bytea, Numeric, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared

# Of the logins of a workspace's people; of some (`SETTLED`) who are there already, with another one.
_PEOPLE: Final = """{0} IN (SELECT login_id FROM user_account WHERE workspace_id = $1) AND {0} <> ALL(SETTLED)"""
_LOGIN: Final = "(SELECT l.id FROM login l WHERE lower(l.email) = lower(email_address) AND l.verified_at IS NOT NULL)"


class Workspace(Table, db=DB, tablename="workspace"):
    """A customer. Every other row belongs to one."""

    declared = Declared(
        by="id", line="workspace", by_hand="deletion", moves=False,
        anew="suspended_at deletion_began_at sso_enforced move_id moved_to quotas",
    )  # fmt: skip
    id = Text(primary_key=True)
    name = Text()
    created_at = Timestamptz()
    suspended_at = Timestamptz(null=True, default=None)
    deletion_began_at = Timestamptz(null=True, default=None)  # it is suspended, too, and stays so
    networks = Array(Text())  # from which people may use the web area; empty: from any
    quotas = JSON()  # where they differ from the settings, by name
    sso_enforced = Boolean(default=False)  # passwords are for `break_glass` accounts only
    move_id = Text(null=True, default=None)  # while it comes from another installation; for good once it has gone
    moved_to = Text(null=True, default=None)  # the address; empty: not known


class Login(Table, db=DB, tablename="login"):
    """What a person signs in with. It goes with the last of its accounts."""

    declared = Declared(
        cascades=True, rows=_PEOPLE.format("id"), sealed="totp_secret",
        moved={"verified_at": """CASE WHEN NOT EXISTS (SELECT 1 FROM login l WHERE l.verified_at IS NOT NULL
            AND lower(l.email) = lower(json_populate_recordset.email) AND l.id <> json_populate_recordset.id)
            THEN verified_at END"""},
    )  # fmt: skip
    sealed_in = "user_account"  # the place of secrets that were there first
    id = Text(primary_key=True)
    email = Text()
    verified_at = Timestamptz(null=True, default=None)  # its mail was opened, or a provider vouched; one an address
    password_hash = Text(null=True, default=None)
    totp_secret = Bytea(null=True, default=None)  # sealed; null: the password is enough
    totp_step = BigInt(null=True, default=None)  # of the last code used
    known_browsers = Array(Text())  # SHA-256 of their cookies, the latest last


class UserAccount(Table, db=DB, tablename="user_account"):
    """Somebody who belongs to a workspace. `role` is admin, agent or viewer. A new one without a login gets its own."""

    declared = Declared(
        line="user", refers="login", sealed="totp_secret",
        hidden="login_id unique_email password_hash totp_step operator known_browsers",
        made={"login_id": _LOGIN},  # null: a new one
        moved={"operator": "false", "password_hash": "", "totp_secret": "", "totp_step": "", "known_browsers": ""},
    )  # fmt: skip
    id = Text(primary_key=True)
    workspace_id = Text()
    login_id = Text()
    email = Text(db_column_name="email_address")
    name = Text(null=True, default=None)
    role = Text()
    created_at = Timestamptz()
    break_glass = Boolean(default=False)  # signs in by password where single sign-on is enforced
    operator = Boolean(default=False)  # sees all workspaces; the command line alone says so
    # For the version before, which may run beside this one: triggers keep them like those of the login.
    unique_email = Text(db_column_name="email")
    password_hash = Text(null=True, default=None)
    totp_secret = Bytea(null=True, default=None)
    totp_step = BigInt(null=True, default=None)
    known_browsers = Array(Text())


class ApiKey(Table, db=DB, tablename="api_key"):
    """A key to /v1. Only its SHA-256 is stored; `lookup` is the readable part that finds the row."""

    declared = Declared(line="api_key", imported=False)
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
    successor = Text(null=True, default=None)  # the id of the key that it was rolled to


class UserSession(Table, db=DB, tablename="user_session"):
    """One signed-in browser. Only the SHA-256 of its cookie is stored."""

    declared = Declared(
        of="user_account", by="user_id", refers="identity_provider", chore="session",
        ends="created_at <= now() - :session_life * interval '1 second'"
        " OR seen_at <= now() - :session_idle * interval '1 second'",
    )  # fmt: skip
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

    declared = Declared(of="login", by="user_id", rows=_PEOPLE.format("user_id"))
    id = Text(primary_key=True)
    user_id = Text()  # the login
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

    declared = Declared(of="login", by="user_id", rows=_PEOPLE.format("user_id"))
    id = Text(primary_key=True)
    user_id = Text()  # the login
    hash = Bytea()


class Invitation(Table, db=DB, tablename="invitation"):
    """A one-time link to an account. Gone once it is used."""

    declared = Declared(line="invitation", imported=False, hidden="operator", moved={"operator": "false"})
    id = Text(primary_key=True)
    workspace_id = Text()
    email = Text(null=True, default=None)  # null: whoever opens it chooses
    role = Text()
    operator = Boolean(default=False)  # of the account that it makes
    mailed = Boolean(default=False)  # nobody else was shown the link: who opens it has the address
    hash = Bytea()
    created_at = Timestamptz()
    expires_at = Timestamptz()


class PasswordReset(Table, db=DB, tablename="password_reset"):
    """A one-time link to another password. Gone once it is used or replaced."""

    declared = Declared(of="login", by="user_id", rows=_PEOPLE.format("user_id"), ends="expires_at < now()")
    user_id = Text(primary_key=True)  # the login
    hash = Bytea()
    expires_at = Timestamptz()


class IdentityProvider(Table, db=DB, tablename="identity_provider"):
    """An OpenID provider that a workspace's people sign in at."""

    declared = Declared(line="identity_provider", sealed="client_secret")
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

    declared = Declared(line="user_identity", refers="identity_provider user_account")
    id = Text(primary_key=True)
    workspace_id = Text()
    provider_id = Text()
    subject = Text()
    user_id = Text(null=True, default=None)  # null: an admin has removed the account
    created_at = Timestamptz()


class SignOnUsed(Table, db=DB, tablename="sign_on_used"):
    """Something that a provider or a browser may send once. Only its SHA-256 is stored."""

    declared = Declared(of="identity_provider", by="provider_id", moves=False, ends="until < now()")
    hash = Bytea(primary_key=True)
    provider_id = Text()
    until = Timestamptz()


class AuditEntry(Table, db=DB, tablename="audit_entry"):
    """Who did what to which object, from where."""

    declared = Declared(
        line="audit_entry", refers="audit_count", hidden="in_count", anew="number", late="t.number IS NULL",
        moved={"in_count": "false"},
    )  # fmt: skip
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
    in_count = Boolean(default=False)  # in `audit_count`; false: copied, or by a version before


class AuditCount(Table, db=DB, tablename="audit_count"):
    """How many entries an audit log should have. The rows of a workspace, or of the installation, are added up."""

    declared = Declared(cascades=True, moves=False)
    id = Text(primary_key=True)
    workspace_id = Text(null=True, default=None)
    entries = BigInt()  # below 0 for those that retention has dropped
    digests = Numeric()  # the sum of `audit/chain.py:weight`


class AuditChain(Table, db=DB, tablename="audit_chain"):
    """How far the audit log of a workspace, or of the installation, is chained."""

    declared = Declared(cascades=True, late="true", sealed="sealed", moved={"head_due": "true"})
    id = Text(primary_key=True)
    workspace_id = Text(null=True, default=None)
    sealed = Bytea()  # see `audit/chain.py`
    head_due = Boolean(default=True)  # whether its end is still to be told outside, see `audit/heads.py`
