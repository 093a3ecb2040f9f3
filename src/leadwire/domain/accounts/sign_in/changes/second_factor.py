"""The second factor: six digits that an authenticator app makes anew every 30 seconds (TOTP, RFC 6238).

A code opens once. The secret is sealed like an endpoint's. Codes are counted apart from passwords, so that whoever has
the password has five tries in five minutes at the code, however often they give the password. A recovery code or a
passkey does as well. Recovery codes are ten codes that replace the second factor once each, for who has lost it.
"""

import base64
import hmac
import secrets
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from leadwire.domain.accounts import keys, notify, tickets
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.table import HAS_FACTOR, Passkey, RecoveryCode, UserAccount
from leadwire.infrastructure import clock, db, ids, secret_box
from leadwire.infrastructure.db.statements import insert, param, sql, statement
from leadwire.infrastructure.errors import Invalid, NotFound, invalid_field

_STEP: Final = 30  # seconds
_SECRET: Final = 20  # bytes, as RFC 4226 recommends
_DRIFT: Final = (0, -1, 1)  # steps that a phone's clock may be off
_PATIENCE: Final = 300  # seconds from the password to the code
_OFFERED: Final = 900  # seconds to set an app up
_WRONG: Final = ("/code", "wrong_code", "Wrong or used code. Wait for the next one.")
_CODES: Final = 10
_CODE: Final = 16
"""Characters of a recovery code, dashes apart: 80 random bits, so a plain SHA-256 is enough."""
_NOBODY: Final = "There is no such user with a second factor."

_BY_ID: Final = UserAccount.id == param("id")
_ADD: Final = statement(UserAccount.update(totp_secret=param("sealed"), totp_step=param("step")).where(_BY_ID))
_COLLEAGUE: Final = (UserAccount.workspace_id == param("workspace"), _BY_ID)
_REMOVE_APP: Final = statement(
    UserAccount.update(totp_secret=None, totp_step=None)
    .where(*_COLLEAGUE, UserAccount.totp_secret.is_not_null())
    .returning(UserAccount.email)
)
# What refers to them can be written meanwhile.
_LOCK: Final = statement(
    UserAccount.select("email", "workspace_id", "password_hash").where(_BY_ID).lock_rows("NO KEY UPDATE")
)
# A colleague who has a second factor.
_FIND: Final = sql(f"""
SELECT email FROM user_account u WHERE workspace_id = :workspace AND id = :id AND {HAS_FACTOR} FOR NO KEY UPDATE""")
_REMOVE_PASSKEYS: Final = statement(Passkey.delete().where(Passkey.user_id == param("user")))
_STORED: Final = statement(UserAccount.select("password_hash", "totp_secret", "workspace_id", "email").where(_BY_ID))
_UNCHANGED: Final = (UserAccount.password_hash == param("password_hash"), UserAccount.totp_secret == param("sealed"))
_USE_STEP: Final = statement(
    UserAccount.update(totp_step=param("step"))
    .where(_BY_ID, UserAccount.totp_step < param("step"), *_UNCHANGED)
    .returning(UserAccount.id)
)
_CODES_OF: Final = RecoveryCode.user_id == param("user")
_ADD_CODE: Final = insert(*RecoveryCode.all_columns())
_USE_CODE: Final = statement(
    RecoveryCode.delete().where(_CODES_OF, RecoveryCode.hash == param("hash")).returning(RecoveryCode.hash)
)
_COUNT_CODES: Final = statement(RecoveryCode.count().where(_CODES_OF))
_REMOVE_CODES: Final = statement(RecoveryCode.delete().where(_CODES_OF))


def offer(user_id: str, again: str = "") -> tuple[str, str]:
    """A secret for an app, and the sealed form of it that `add` takes: those of the offer `again` while it holds."""
    owner, secret = tickets.opened("offer", again)
    if owner == user_id:
        return secret, again
    secret = base64.b32encode(secrets.token_bytes(_SECRET)).decode()
    return secret, tickets.sealed("offer", user_id, secret, _OFFERED)


def uri(secret: str, email: str) -> str:
    """The secret as apps read it from a QR code."""
    return _totp(secret).get_provisioning_uri(email, "Leadwire")


async def add(person: Person, offered: str, code: str) -> None:
    """Ask for codes too, of the secret that `offer` sealed; sessions elsewhere end. Raise RateLimited, Invalid."""
    owner, secret = tickets.opened("offer", offered)
    if owner != person.user_id:  # no browser may choose the secret
        raise Invalid("This page is too old, or its secret is not ours. Scan the new one below.")
    await tries.count(f"code {person.user_id}")
    if (step := _step_of(secret, code)) is None:
        raise invalid_field(*_WRONG)
    await tries.forgive(f"code {person.user_id}")
    async with audit.transaction(person, "user.second_factor_added", person.user_id):
        sealed = secret_box.get().seal(secret, _place(person.user_id))
        await _ADD.rows(id=person.user_id, sealed=sealed, step=step)
        await sessions.end_all(person.user_id, but=person.session_id)
        await notify.tell(person.user_id, "second_factor_on")


async def remove_app(workspace: str, user_id: str) -> None:
    """Ask for codes no more; passkeys stay. Raise NotFound."""
    await _REMOVE_APP.one(NotFound(_NOBODY), workspace=workspace, id=user_id)
    await notify.tell(user_id, "app_removed")


async def remove(workspace: str, user_id: str) -> str:
    """Let the password be enough again: without app, passkeys and recovery codes. Return the user's e-mail address.

    Raise NotFound.
    """
    async with db.transaction():
        found = await _FIND.one(NotFound(_NOBODY), workspace=workspace, id=user_id)
        await _REMOVE_APP.rows(workspace=workspace, id=user_id)
        await _REMOVE_PASSKEYS.rows(user=user_id)
        await _REMOVE_CODES.rows(user=user_id)
        await notify.tell(user_id, "second_factor_off")
        return str(found["email"])


async def make_codes(user_id: str) -> list[str]:
    """Replace a user's recovery codes. Return the new ones, which are stored nowhere."""
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(_CODES)]
    async with db.transaction():
        await _LOCK.rows(id=user_id)  # first, as whoever removes or uses them
        await _REMOVE_CODES.rows(user=user_id)
        for code in codes:
            await _ADD_CODE.rows(id=ids.new("rec"), user_id=user_id, hash=keys.digest(code))
    return ["-".join(code[at : at + 4] for at in range(0, _CODE, 4)) for code in codes]


def ticket(user_id: str, password_hash: str) -> str:
    """Proof, for five minutes, that somebody gave the right password of `user_id`. It ends with that password."""
    return tickets.sealed("ticket", user_id, password_hash, _PATIENCE)


async def holder(given: str) -> tuple[str, db.Row]:
    """Return whose ticket it is, and what is stored of them. Raise Invalid: too old, or the password is another now."""
    user_id, password_hash = tickets.opened("ticket", given)
    account = await _STORED.row(id=user_id)
    if account is None or account["password_hash"] != password_hash:
        raise Invalid("That took too long. Begin again with your password.")
    return user_id, account


async def redeem(given: str, code: str, address: str) -> str:
    """Return whose ticket it is, when `code` is theirs and was not used before. Raise RateLimited, Invalid."""
    user_id, account = await holder(given)
    await tries.count(f"code {user_id}")
    password_hash, sealed, workspace, email = account
    if len(code) >= _CODE:
        right = await _recover(user_id, password_hash, code, address)
    else:
        step = _step_of(secret_box.get().open(sealed, _place(user_id)), code) if sealed else None
        values = {"step": step, "password_hash": password_hash, "sealed": sealed}
        right = step is not None and await _USE_STEP.row(id=user_id, **values) is not None
    if not right:
        tries.failed(workspace, email, "wrong code", address)
        raise invalid_field(*_WRONG)
    await tries.forgive(f"code {user_id}")
    return user_id


async def _recover(user_id: str, password_hash: str, code: str, address: str) -> bool:
    """Use a recovery code up, unless the password is another by now. Return whether it was one; upper case, dashes and
    spaces do not matter.
    """
    plain = "".join(code.split()).replace("-", "").lower()
    async with db.transaction():
        account = await _LOCK.row(id=user_id)
        if account is None or account["password_hash"] != password_hash:
            return False
        if not await _USE_CODE.row(user=user_id, hash=keys.digest(plain)):
            return False
        entry = audit.Entry("user.recovery_code_used", user_id)
        await audit.record(account["workspace_id"], account["email"], entry, address)
        await notify.tell(user_id, "recovery_code_used", left=str(await _COUNT_CODES.value(user=user_id)))
        return True


def _place(user_id: str) -> str:
    return secret_box.place(UserAccount.totp_secret, user_id)


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
