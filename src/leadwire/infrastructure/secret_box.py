"""Secrets at rest: AES-256-GCM under an operator's key, which can be changed without a gap.

`LEADWIRE_SECRET_KEY` holds one or more keys: the first seals, any opens. Without it, one is made in the data
directory. A sealed secret is 4 bytes of a key's fingerprint, 12 of nonce, then the ciphertext.

What is stored is bound to its place, a column and a row, and opens nowhere else: each column has a key of its own, made
of the operator's, and the place is associated data. Versions before bound nothing, and sealed with the operator's key
itself, as tickets still are: what they have sealed opens at any place until it is sealed again (`reseal`).
"""

import base64
import functools
import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from piccolo.columns import Column

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings

NOWHERE: Final = ""
"""The place of what is not stored."""
_PAGE: Final = 500  # rows


def place(column: Column, row_id: str) -> str:
    """The place of a stored secret: `table.column row`. A table may name that which its secrets were in first."""
    table = column._meta.table
    return f"{getattr(table, 'sealed_in', table._meta.tablename)}.{column._meta.db_column_name} {row_id}"


class SecretBox:
    """Seals and opens. Raise OperatorError for keys that are not 32 bytes of base64."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = [_decoded(text) for text in keys]
        self._roots = [hashlib.sha256(text.encode()).digest() for text in keys]
        self._ciphers = functools.cache(self._ciphers_for)
        self.open = functools.lru_cache(maxsize=4096)(self.open_once)

    def derived(self, purpose: str) -> bytes:
        """A key of its own for another purpose than sealing (HMAC-SHA256 of the first key)."""
        return self.all_derived(purpose)[0]

    def all_derived(self, purpose: str) -> list[bytes]:
        """Those of all keys: what one made may have been made by any of them."""
        return [hmac.digest(root, purpose.encode(), hashlib.sha256) for root in self._roots]

    def seal(self, text: str, at: str = NOWHERE) -> bytes:
        """`text`, unreadable without the key, and elsewhere than at this place."""
        fingerprint, cipher = next(iter(self._ciphers(_column(at)).items()))
        nonce = os.urandom(12)
        return fingerprint + nonce + cipher.encrypt(nonce, text.encode(), at.encode())

    def renewed(self, sealed: bytes, at: str = NOWHERE, to: str = NOWHERE) -> bytes | None:
        """What was sealed `at` a place, sealed with the first key for the place `to`; None where it is that already.

        Raise OperatorError as `open` does.
        """
        return None if sealed[:4] == next(iter(self._ciphers(_column(to)))) else self.seal(self.open(sealed, at), to)

    def open_once(self, sealed: bytes, at: str = NOWHERE) -> str:
        """What was sealed, not kept in memory. Raise OperatorError when its key is not among ours, or it was sealed at
        another place.
        """
        try:
            for bound in dict.fromkeys((at, NOWHERE)):
                if cipher := self._ciphers(_column(bound)).get(sealed[:4]):
                    return cipher.decrypt(sealed[4:16], sealed[16:], bound.encode()).decode()
            raise InvalidTag
        except InvalidTag as error:
            raise OperatorError(
                "LEADWIRE_SECRET_KEY does not open this database's endpoint secrets: set the key they were sealed with"
            ) from error

    def _ciphers_for(self, column: str) -> dict[bytes, AESGCM]:
        """The ciphers of a column, by their keys' fingerprints; the first one seals."""
        name = f"column {column}".encode()
        keys = [hmac.digest(key, name, hashlib.sha256) for key in self._keys] if column else self._keys
        return {hashlib.sha256(key).digest()[:4]: AESGCM(key) for key in keys}


def _decoded(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise OperatorError("LEADWIRE_SECRET_KEY is not base64") from error
    if len(key) != 32:
        raise OperatorError(f"LEADWIRE_SECRET_KEY must be 32 bytes, base64 encoded; this one has {len(key)}")
    return key


def _column(at: str) -> str:
    return at.partition(" ")[0]


@functools.cache
def get() -> SecretBox:
    chosen = settings.get()
    return SecretBox(chosen.secret_key or (_generated(chosen),))


async def reseal(box: SecretBox, column: Column, *, bound: bool = True) -> int:
    """Seal the values of a column with the first key of `box`; unless `bound`, as versions before can open them. Return
    how many were changed. Raise OperatorError.
    """
    table, done, after = column._meta.table, 0, ""
    key = table._meta.primary_key
    while page := await table.select(key, column).where(column.is_not_null(), key > after).order_by(key).limit(_PAGE):
        for after, sealed in map(dict.values, page):
            at = place(column, after)
            if fresh := box.renewed(sealed, at, at if bound else NOWHERE):
                same = (key == after, column == sealed)  # unless somebody has changed it meanwhile
                done += len(await table.update({column: fresh}).where(*same).returning(key))
    return done


def _generated(chosen: Settings) -> str:
    """The key in the data directory, made at the first need; two processes at once agree on one."""
    path = chosen.data_dir / "secret.key"
    try:
        chosen.data_dir.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with tempfile.NamedTemporaryFile("w", dir=chosen.data_dir) as mine, suppress(FileExistsError):  # mode 0600
                mine.write(base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
                mine.flush()
                os.fsync(mine.fileno())  # nothing that it seals may outlive it
                os.link(mine.name, path)  # fails if somebody was quicker, unlike a rename
        return path.read_text().strip()
    except OSError as error:
        raise OperatorError(f"{path} cannot be used as the secret key: {error.strerror}") from error
