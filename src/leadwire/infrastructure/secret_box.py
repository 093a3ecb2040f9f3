"""Secrets at rest: AES-256-GCM under an operator's key, which can be changed without a gap.

`LEADWIRE_SECRET_KEY` holds one or more keys: the first seals, any opens. Without it, one is made in the data
directory. A sealed secret is 4 bytes of the key's fingerprint, 12 of nonce, then the ciphertext.
"""

import base64
import functools
import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from piccolo.columns import Column

from leadwire.infrastructure import settings
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings


class SecretBox:
    """Seals and opens. Raise OperatorError for keys that are not 32 bytes of base64."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._ciphers: dict[bytes, AESGCM] = {}
        self._first = hashlib.sha256(keys[0].encode()).digest()
        for text in keys:
            try:
                key = base64.b64decode(text, validate=True)
            except ValueError as error:
                raise OperatorError("LEADWIRE_SECRET_KEY is not base64") from error
            if len(key) != 32:
                raise OperatorError(f"LEADWIRE_SECRET_KEY must be 32 bytes, base64 encoded; this one has {len(key)}")
            self._ciphers[hashlib.sha256(key).digest()[:4]] = AESGCM(key)
        self.open = functools.lru_cache(maxsize=4096)(self.open_once)

    def derived(self, purpose: str) -> bytes:
        """A key of its own for another purpose than sealing (HMAC-SHA256 of the first key)."""
        return hmac.digest(self._first, purpose.encode(), hashlib.sha256)

    def seal(self, text: str) -> bytes:
        """`text`, unreadable without the key."""
        fingerprint, cipher = next(iter(self._ciphers.items()))
        nonce = os.urandom(12)
        return fingerprint + nonce + cipher.encrypt(nonce, text.encode(), None)

    def renewed(self, sealed: bytes) -> bytes | None:
        """The same, sealed with the first key; None where it is that already. Raise OperatorError as `open` does."""
        return None if sealed[:4] == next(iter(self._ciphers)) else self.seal(self.open(sealed))

    def open_once(self, sealed: bytes) -> str:
        """What was sealed, not kept in memory. Raise OperatorError when its key is not among ours."""
        cipher = self._ciphers.get(sealed[:4])
        try:
            if cipher is None:
                raise InvalidTag
            return cipher.decrypt(sealed[4:16], sealed[16:], None).decode()
        except InvalidTag as error:
            raise OperatorError(
                "LEADWIRE_SECRET_KEY does not open this database's endpoint secrets: set the key they were sealed with"
            ) from error


@functools.cache
def get() -> SecretBox:
    """The secret box of this process."""
    chosen = settings.get()
    return SecretBox(chosen.secret_key or (_generated(chosen),))


async def reseal(box: SecretBox, column: Column) -> int:
    """Seal the values of a column with the first key of `box`. Return how many were changed. Raise OperatorError."""
    table, done = column._meta.table, 0
    row_id: Column = table.id  # type: ignore[attr-defined]
    read = statement(table.select(row_id, column).where(column.is_not_null()))
    write = statement(  # unless somebody has changed it meanwhile
        table.update({column: param("fresh")}).where(row_id == param("id"), column == param("sealed")).returning(row_id)
    )
    for found, sealed in await read.rows():
        if fresh := box.renewed(sealed):
            done += await write.row(id=found, sealed=sealed, fresh=fresh) is not None
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
                os.link(mine.name, path)  # fails if somebody was quicker, unlike a rename
        return path.read_text().strip()
    except OSError as error:
        raise OperatorError(f"{path} cannot be used as the secret key: {error.strerror}") from error
