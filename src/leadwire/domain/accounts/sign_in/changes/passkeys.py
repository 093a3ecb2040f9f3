"""Passkeys (WebAuthn level 3): key pairs that a person's device keeps and uses on this site only.

The device always checks its user, by a PIN or a finger, so a passkey is both factors. The challenge is sealed into a
cookie of the browser that asked for it. A passkey takes only challenges made after that of its last use: each counts
once.
"""

import json
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import webauthn
from webauthn import helpers
from webauthn.helpers import structs
from webauthn.helpers.exceptions import WebAuthnException

from leadwire.domain.accounts import notify, tickets
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import second_factor, sessions
from leadwire.domain.accounts.table import Passkey
from leadwire.infrastructure import clock, ids, telemetry
from leadwire.infrastructure.db.statements import insert, named
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field
from leadwire.infrastructure.unseen import is_name

PATIENCE: Final = 300
"""Seconds that a challenge is good for."""

_MOST: Final = 20  # passkeys of a person
_LONGEST: Final = 16_384  # characters of an answer; the largest kind of key makes 12,000
_VERIFIED: Final = structs.AuthenticatorSelectionCriteria(
    resident_key=structs.ResidentKeyRequirement.REQUIRED, user_verification=structs.UserVerificationRequirement.REQUIRED
)
_MALFORMED: Final = (WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
_FIND, _USE, _REMOVE = named(__file__, "find use remove")
_ADD: Final = insert(*Passkey.all_columns(), end="ON CONFLICT (credential_id) DO NOTHING RETURNING id")


class Site(NamedTuple):
    """Where the web area is."""

    url: str

    @property
    def host(self) -> str:
        """What passkeys belong to."""
        try:
            return urlsplit(self.url).hostname or "localhost"
        except ValueError:  # a caller's header may say whatever it likes
            return "localhost"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as browsers write them."""
        return "{0.scheme}://{0.netloc}".format(urlsplit(self.url))


class Answer(NamedTuple):
    """What a browser sent: the JSON of its credential, and the ticket of the challenge, from its cookie."""

    site: Site
    ticket: str
    credential: str
    address: str = ""
    """The network that it came from."""


def request_options(site: Site) -> tuple[str, str]:
    """Options for `navigator.credentials.get` as JSON, for any passkey of this site; and the challenge's ticket."""
    challenge, ticket = _challenge("use")
    options = webauthn.generate_authentication_options(
        rp_id=site.host, challenge=challenge, timeout=PATIENCE * 1000,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )  # fmt: skip
    return webauthn.options_to_json(options), ticket


async def creation_options(person: Person, site: Site) -> tuple[str, str]:
    """Options for `navigator.credentials.create` as JSON, and the challenge's ticket.

    Raise Conflict for who came through a provider: a passkey would outlast what the provider says of them.
    """
    if person.provider:
        raise Conflict("You signed in through a provider, which has passkeys of its own. Sign in by password first.")
    challenge, ticket = _challenge("make", person.login_id)
    rows = await Passkey.select(Passkey.credential_id, Passkey.transports).where(Passkey.user_id == person.login_id)
    excluded = [
        structs.PublicKeyCredentialDescriptor(
            row["credential_id"], transports=[*map(structs.AuthenticatorTransport, row["transports"])]
        )
        for row in rows
    ]
    options = webauthn.generate_registration_options(
        rp_id=site.host, rp_name="Leadwire", user_id=person.login_id.encode(), user_name=person.email,
        challenge=challenge, timeout=PATIENCE * 1000, authenticator_selection=_VERIFIED, exclude_credentials=excluded,
    )  # fmt: skip
    return webauthn.options_to_json(options), ticket


async def add(person: Person, name: str, answer: Answer) -> None:
    """Add a passkey that the person's device has just made; sessions elsewhere end. Raise Invalid, Conflict."""
    if not is_name(name, 100):
        raise invalid_field("/name", "required", "1 to 100 characters, on one line.")
    refused = Invalid("The new passkey was not accepted. Try again.")
    login_id, challenge, _ = _opened("make", answer)
    if login_id != person.login_id:
        raise refused
    try:
        credential = helpers.parse_registration_credential_json(answer.credential)
        proof = webauthn.verify_registration_response(
            credential=credential, expected_challenge=challenge, expected_rp_id=answer.site.host,
            expected_origin=answer.site.origin, require_user_verification=True,
        )  # fmt: skip
        _refuse_frames(credential.response.client_data_json)
    except _MALFORMED as error:
        raise refused from error
    passkey_id = ids.new("pass")
    async with audit.transaction(person, "passkey.added", passkey_id, name, login_id):
        await sessions.lock_login(person)
        await second_factor.drop_idle_codes(login_id)
        if await Passkey.count().where(Passkey.user_id == login_id) >= _MOST:
            raise Conflict(f"A person has at most {_MOST} passkeys. Remove one first.", code="too_many")
        await _ADD.one(
            Conflict("This passkey is here already."),
            id=passkey_id, user_id=login_id, name=name, credential_id=proof.credential_id,
            public_key=proof.credential_public_key, sign_count=proof.sign_count, backed_up=proof.credential_backed_up,
            transports=[transport.value for transport in credential.response.transports or ()],
            created_at=clock.now(), last_used_at=None,
        )  # fmt: skip
        await sessions.end_all(login_id, but=person.session_id)
        await notify.tell(login_id, "passkey_added", name=name)


async def owner(answer: Answer) -> str:
    """Return the id of the login whose passkey answered, which is locked, and count its use. Raise Invalid."""
    refused = Invalid("The passkey was not accepted. Try again, or use another way.")
    _, challenge, at = _opened("use", answer)
    if at is None:
        raise refused
    try:
        credential = helpers.parse_authentication_credential_json(answer.credential)
    except _MALFORMED as error:
        raise refused from error
    row = await _FIND.one(refused, credential_id=credential.raw_id)
    try:
        if credential.response.user_handle != row["user_id"].encode():
            raise ValueError("another user")
        used = webauthn.verify_authentication_response(
            credential=credential, expected_challenge=challenge, expected_rp_id=answer.site.host,
            expected_origin=answer.site.origin, credential_public_key=row["public_key"],
            credential_current_sign_count=0,  # compared below, where a lower one is logged
            require_user_verification=True,
        )  # fmt: skip
        _refuse_frames(credential.response.client_data_json)
    except _MALFORMED as error:
        tries.failed(row["workspaces"], row["email"], "passkey refused", answer.address)
        raise refused from error
    count, before = used.new_sign_count, row["sign_count"]
    if not await _USE.row(id=row["id"], count=count, backed_up=used.credential_backed_up, at=at):
        if count <= before and before:  # a copy of the key may be in use
            telemetry.warn("passkey.count_went_back", passkey=row["id"], was=before, now=count)
        tries.failed(row["workspaces"], row["email"], "passkey refused: used before", answer.address)
        raise refused
    return str(row["user_id"])


async def remove(login_id: str, passkey_id: str) -> str:
    """Remove a passkey of a login. Return its name. Raise NotFound."""
    name: str = (await _REMOVE.one(NotFound("There is no such passkey."), login=login_id, id=passkey_id))["name"]
    await notify.tell(login_id, "passkey_removed", name=name)
    return name


def _challenge(purpose: str, login_id: str = "anybody") -> tuple[bytes, str]:
    challenge = helpers.generate_challenge()
    text = f"{helpers.bytes_to_base64url(challenge)}.{clock.iso(clock.now())}"
    return challenge, tickets.sealed(f"passkey-{purpose}", login_id, text, PATIENCE)


def _refuse_frames(client_data: bytes) -> None:
    """Raise ValueError for what was done in a frame of another site: no page of ours may be in one."""
    said = json.loads(client_data)
    if said.get("crossOrigin") or "topOrigin" in said:
        raise ValueError("in a frame of another site")


def _opened(purpose: str, answer: Answer) -> tuple[str, bytes, datetime | None]:
    """Who asked for the challenge, the challenge, and when it was made; nothing for a bad ticket or a long answer."""
    login_id, text = tickets.opened(f"passkey-{purpose}", answer.ticket if len(answer.credential) <= _LONGEST else "")
    challenge, _, at = text.partition(".")
    return login_id, helpers.base64url_to_bytes(challenge), clock.parse(at) if at else None
