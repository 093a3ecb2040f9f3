"""The second factor: six digits that an authenticator app makes anew every 30 seconds (TOTP, RFC 6238).

A code opens once. The secret is sealed like an endpoint's. Codes are counted apart from passwords, so that whoever has
the password has five tries in five minutes at the code, however often they give the password.
"""

import base64
import hmac
import secrets
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from leadwire.domain.accounts.changes import audit, failed_sign_ins, notify, sessions, sign_in_limits
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.table import UserAccount
from leadwire.infrastructure import clock, db, secret_box
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import Invalid, NotFound, OperatorError, invalid_field

_STEP: Final = 30  # seconds
_SECRET: Final = 20  # bytes, as RFC 4226 recommends
_DRIFT: Final = (0, -1, 1)  # steps that a phone's clock may be off
_PATIENCE: Final = 300  # seconds from the password to the code
_OFFERED: Final = 900  # seconds to set an app up
_WRONG: Final = ("/code", "wrong_code", "Wrong or used code. Wait for the next one.")

_BY_ID: Final = UserAccount.id == param("id")
_ADD: Final = statement(UserAccount.update(totp_secret=param("sealed"), totp_step=param("step")).where(_BY_ID))
_REMOVE: Final = statement(
    UserAccount.update(totp_secret=None, totp_step=None)
    .where(UserAccount.workspace_id == param("workspace"), _BY_ID, UserAccount.totp_secret.is_not_null())
    .returning(UserAccount.email)
)
_STORED: Final = statement(UserAccount.select("password_hash", "totp_secret", "workspace_id", "email").where(_BY_ID))
_UNCHANGED: Final = (UserAccount.password_hash == param("password_hash"), UserAccount.totp_secret == param("sealed"))
_USE_STEP: Final = statement(
    UserAccount.update(totp_step=param("step"))
    .where(_BY_ID, UserAccount.totp_step < param("step"), *_UNCHANGED)
    .returning(UserAccount.id)
)


def offer(user_id: str, again: str = "") -> tuple[str, str]:
    """A secret for an app, and the sealed form of it that `add` takes: those of the offer `again` while it holds."""
    owner, secret = _opened("offer", again)
    if owner == user_id:
        return secret, again
    secret = base64.b32encode(secrets.token_bytes(_SECRET)).decode()
    return secret, _sealed("offer", user_id, secret, _OFFERED)


def uri(secret: str, email: str) -> str:
    """The secret as apps read it from a QR code."""
    return _totp(secret).get_provisioning_uri(email, "Leadwire")


async def add(person: Person, offered: str, code: str) -> None:
    """Ask for codes too, of the secret that `offer` sealed; sessions elsewhere end. Raise RateLimited, Invalid."""
    owner, secret = _opened("offer", offered)
    if owner != person.user_id:  # no browser may choose the secret
        raise Invalid("This page is too old, or its secret is not ours. Scan the new one below.")
    await sign_in_limits.count(f"code {person.user_id}", person.address)
    if (step := _step_of(secret, code)) is None:
        raise invalid_field(*_WRONG)
    await sign_in_limits.forgive(f"code {person.user_id}")
    async with audit.transaction(person, "user.second_factor_added", person.user_id):
        await _ADD.rows(id=person.user_id, sealed=secret_box.get().seal(secret), step=step)
        await sessions.end_all(person.user_id, but=person.session_id)
        await notify.tell(person.user_id, "second_factor_on")


async def remove(workspace: str, user_id: str) -> str:
    """Let the password be enough again. Return the user's e-mail address. Raise NotFound."""
    missing = NotFound("There is no such user with a second factor.")
    async with db.transaction():
        email = str((await _REMOVE.one(missing, workspace=workspace, id=user_id))["email"])
        await notify.tell(user_id, "second_factor_off")
    return email


def ticket(user_id: str, password_hash: str) -> str:
    """Proof, for five minutes, that somebody gave the right password of `user_id`. It ends with that password."""
    return _sealed("ticket", user_id, password_hash, _PATIENCE)


async def redeem(given: str, code: str, address: str) -> str:
    """Return whose ticket it is, when `code` is theirs and was not used before. Raise RateLimited, Invalid."""
    user_id, password_hash = _opened("ticket", given)
    account = await _STORED.row(id=user_id)
    if account is None or account["password_hash"] != password_hash:
        raise Invalid("That took too long. Begin again with your password.")
    sealed = account["totp_secret"]
    await sign_in_limits.count(f"code {user_id}", address)
    step = _step_of(secret_box.get().open(sealed), code) if sealed else None
    if step is None or not await _USE_STEP.row(id=user_id, step=step, password_hash=password_hash, sealed=sealed):
        failed_sign_ins.count(account["workspace_id"], account["email"], "wrong code", address)
        raise invalid_field(*_WRONG)
    await sign_in_limits.forgive(f"code {user_id}")
    return user_id


def _sealed(purpose: str, user_id: str, text: str, life: int) -> str:
    """Something that a browser keeps for `life` seconds and can neither read nor make up."""
    return secret_box.get().seal(f"{purpose} {user_id} {int(clock.now().timestamp()) + life} {text}").hex()


def _opened(purpose: str, sealed: str) -> tuple[str, str]:
    """The user and the text of what `_sealed` made for this purpose; empty for anything else, or after its time."""
    try:
        made_for, user_id, until, text = secret_box.get().open(bytes.fromhex(sealed)).split(" ")
    except (ValueError, OperatorError):
        return "", ""
    return (user_id, text) if made_for == purpose and int(until) >= clock.now().timestamp() else ("", "")


def _step_of(secret: str, code: str) -> int | None:
    """The step that `code` is the code of, if it is of one that may be now. Raise Invalid for no secret of ours."""
    given, now = "".join(code.split()).encode(), int(clock.now().timestamp()) // _STEP
    made = _totp(secret)
    steps = (now + drift for drift in _DRIFT)
    return next((step for step in steps if hmac.compare_digest(made.generate(step * _STEP), given)), None)


def _totp(secret: str) -> TOTP:
    try:
        key = base64.b32decode(secret)
    except ValueError:
        key = b""
    if len(key) != _SECRET:
        raise Invalid("This is no secret of ours. Begin again.")
    return TOTP(key, 6, SHA1(), _STEP)  # noqa: S303 - what authenticator apps speak
