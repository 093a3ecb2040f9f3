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

from leadwire.domain.accounts import keys, notify, reads, tickets
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.table import Login, Passkey, RecoveryCode, UserAccount
from leadwire.infrastructure import clock, db, ids, secret_box
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import insert, named
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field

_STEP: Final = 30  # seconds
_SECRET: Final = 20  # bytes, as RFC 4226 recommends
_DRIFT: Final = (0, -1, 1)  # steps that a phone's clock may be off
_PATIENCE: Final = 300  # seconds from the password to the code
_OFFERED: Final = 900  # seconds to set an app up
_WRONG: Final = ("/code", "wrong_code", "Wrong or used code. Wait for the next one.")
_CODES: Final = 10
_CODE: Final = 16
"""The least characters of a recovery code. New ones have 24, which are 120 random bits: a plain SHA-256 is enough."""
_NOBODY: Final = "There is no such user with a second factor."

_FIND, _STORED, _USE, _USE_CODE, _REMOVE_APP = named(__file__, "find stored use use_code remove_app")
_ADD_CODE: Final = insert(*RecoveryCode.all_columns())


def offer(login_id: str, again: str = "") -> tuple[str, str]:
    """A secret for an app, and the sealed form of it that `add` takes: those of the offer `again` while it holds."""
    owner, secret = tickets.opened("offer", again)
    if owner == login_id:
        return secret, again
    secret = base64.b32encode(secrets.token_bytes(_SECRET)).decode()
    return secret, tickets.sealed("offer", login_id, secret, _OFFERED)


def uri(secret: str, email: str) -> str:
    """The secret as apps read it from a QR code."""
    return _totp(secret).get_provisioning_uri(email, "Leadwire")


async def add(person: Person, offered: str, code: str) -> None:
    """Ask for codes too, of the secret that `offer` sealed; sessions elsewhere end. Raise RateLimited, Invalid,
    Conflict.
    """
    login_id = person.login_id
    owner, secret = tickets.opened("offer", offered)
    if owner != login_id:  # no browser may choose the secret
        raise Invalid("This page is too old, or its secret is not ours. Scan the new one below.")
    await tries.count(f"code {login_id}")
    if (step := _step_of(secret, code)) is None:
        raise invalid_field(*_WRONG)
    await tries.forgive(f"code {login_id}")
    async with audit.transaction(person, "user.second_factor_added", person.user_id, login_id=login_id):
        await sessions.lock_login(person)
        await drop_idle_codes(login_id)
        sealed = secret_box.get().seal(secret, secret_box.place(Login.totp_secret, login_id))
        await Login.update({Login.totp_secret: sealed, Login.totp_step: step}).where(Login.id == login_id)
        await sessions.end_all(login_id, but=person.session_id)
        await notify.tell(login_id, "second_factor_on")


async def remove_app(login_id: str) -> None:
    """Ask for codes no more; passkeys stay. Raise NotFound."""
    await _REMOVE_APP.one(NotFound(_NOBODY), login=login_id)
    await notify.tell(login_id, "app_removed")


@query()
async def drop_idle_codes(login_id: str) -> None:
    """Delete the recovery codes of a locked login without a second factor: they would open the one that is added now.

    Then, not with the last one: another may go at the same moment, and codes may be made meanwhile.
    """


async def remove(workspace: str, user_id: str, *, by_operator: bool = False) -> tuple[str, str]:
    """Let a colleague's password be enough again: without app, passkeys and recovery codes. Return their e-mail
    address and login. Raise NotFound; Conflict where it would open another workspace too, unless an operator does it.
    """
    async with db.transaction():
        login_id, email = await _FIND.one(NotFound(_NOBODY), workspace=workspace, user=user_id)
        # Counted once the login is locked: they may just have joined another workspace.
        if not by_operator and await UserAccount.count().where(UserAccount.login_id == login_id) > 1:
            raise Conflict("They sign in to another workspace, too: an operator can do this, on the command line.")
        await _REMOVE_APP.rows(login=login_id)
        await Passkey.delete().where(Passkey.user_id == login_id)
        await RecoveryCode.delete().where(RecoveryCode.user_id == login_id)
        await notify.tell(login_id, "second_factor_off")
        return email, login_id


async def make_codes(login_id: str) -> list[str]:
    """Replace a login's recovery codes. Return the new ones, which are stored nowhere."""
    codes = [base64.b32encode(secrets.token_bytes(15)).decode().lower() for _ in range(_CODES)]
    async with db.transaction():
        await reads.locked_login(login_id)  # first, as whoever removes or uses them
        await RecoveryCode.delete().where(RecoveryCode.user_id == login_id)
        for code in codes:
            await _ADD_CODE.rows(id=ids.new("rec"), user_id=login_id, hash=keys.digest(code))
    return ["-".join(code[at : at + 4] for at in range(0, len(code), 4)) for code in codes]


def ticket(login_id: str, password_hash: str) -> str:
    """Proof, for five minutes, that somebody gave the right password of a login. It ends with that password."""
    return tickets.sealed("ticket", login_id, password_hash, _PATIENCE)


async def holder(ticket: str) -> tuple[str, db.Row]:
    """Return whose ticket it is, and what is stored of them. Raise Invalid: too old, or the password is another now."""
    login_id, password_hash = tickets.opened("ticket", ticket)
    login = await _STORED.row(id=login_id)
    if login is None or login["password_hash"] != password_hash:
        raise Invalid("That took too long. Begin again with your password.")
    return login_id, login


async def redeem(ticket: str, code: str, address: str) -> str:
    """Return whose ticket it is, when `code` is theirs and was not used before. Raise RateLimited, Invalid."""
    login_id, login = await holder(ticket)
    await tries.count(f"code {login_id}")
    password_hash, sealed, workspaces, email = login
    if len(code) >= _CODE:
        right = await _recover(login_id, password_hash, code, address)
    else:
        at = secret_box.place(Login.totp_secret, login_id)
        step = _step_of(secret_box.get().open(sealed, at), code) if sealed else None
        use = {"login": login_id, "password_hash": password_hash, "sealed": sealed, "step": step}
        right = step is not None and await _USE.row(**use) is not None
    if not right:
        tries.failed(workspaces, email, "wrong code", address)
        raise invalid_field(*_WRONG)
    await tries.forgive(f"code {login_id}")
    return login_id


async def _recover(login_id: str, password_hash: str, code: str, address: str) -> bool:
    """Use a recovery code up, unless the password is another by now. Return whether it was one; upper case, dashes and
    spaces do not matter.
    """
    plain = "".join(code.split()).replace("-", "").lower()
    async with db.transaction():
        login = await reads.locked_login(login_id)
        if login is None or login["password_hash"] != password_hash:
            return False
        if not await _USE_CODE.row(login=login_id, hash=keys.digest(plain)):
            return False
        entry = audit.Entry("user.recovery_code_used", login_id, login_id=login_id)
        await audit.record(None, login["email"], entry, address)
        left = await RecoveryCode.count().where(RecoveryCode.user_id == login_id)
        await notify.tell(login_id, "recovery_code_used", left=str(left))
        return True


def _step_of(secret: str, code: str) -> int | None:
    """The step that `code` is the code of, if it is of one that may be now. Raise Invalid for no secret of ours."""
    digits, now = "".join(code.split()).encode(), int(clock.now().timestamp()) // _STEP
    totp = _totp(secret)
    steps = (now + drift for drift in _DRIFT)
    return next((step for step in steps if hmac.compare_digest(totp.generate(step * _STEP), digits)), None)


def _totp(secret: str) -> TOTP:
    try:
        key = base64.b32decode(secret)
    except ValueError:
        key = b""
    if len(key) != _SECRET:
        raise Invalid("This is no secret of ours. Begin again.")
    return TOTP(key, 6, SHA1(), _STEP)  # noqa: S303 - what authenticator apps speak
