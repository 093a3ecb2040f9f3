"""The chain of an audit log: how an entry is hashed, and what the seal of a chain says.

An entry's hash is the SHA-256 of the hash before it (32 bytes; of the first, zeros) and of the entry as compact JSON
with the keys of `Line` in their order. Whoever has an export can compute it again.
"""

import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire.domain.accounts.table import AuditChain
from leadwire.infrastructure import clock, secret_box
from leadwire.infrastructure.errors import OperatorError

INSTALLATION: Final = "installation"
"""The chain of entries that belong to no workspace. Each other chain has the id of its workspace."""
ORIGIN: Final = bytes(32)
"""What comes before the first hash."""


class Line(Struct, frozen=True):
    """An entry as it is hashed."""

    workspace_id: str | None
    """The workspace whose log it is."""
    number: int
    """Its place in the log, from 1 without gaps."""
    id: str
    """Starts with `aud_`."""
    at: str
    """When it happened."""
    actor: str
    """Who did it: an address of a person, or a part of the service."""
    action: str
    """What was done, such as `user.role_changed`."""
    subject: str
    """What or whom it was done to."""
    detail: str
    """What else is known, in words."""
    address: str
    """The network that the request came from, or empty."""


class AuditRecorded(Line, frozen=True):
    """An entry of the audit log, as it is exported and as `audit.recorded` carries it."""

    hash: str
    """The SHA-256 of the hash before it and of the entry, in hex."""


class Seal(Struct, frozen=True, array_like=True):
    """The last entry of a chain, and the last one that was dropped by retention: their numbers and hashes.

    It is kept as `secret_box` seals it, so that nobody without LEADWIRE_SECRET_KEY can make another.
    """

    chain: str
    dropped: int = 0
    dropped_hash: bytes = ORIGIN
    last: int = 0
    last_hash: bytes = ORIGIN


def line(row: Any, number: int) -> Line:
    """A row of `audit_entry` as it is hashed."""
    return Line(
        row["workspace_id"], number, row["id"], clock.iso(row["at"]),
        row["actor"], row["action"], row["subject"], row["detail"], row["address"],
    )  # fmt: skip


def digest(before: bytes, entry: Line) -> bytes:
    """The hash of an entry that follows the one with the hash `before`."""
    return hashlib.sha256(before + msgspec.json.encode(entry)).digest()


def weight(row: Any) -> int:
    """What a row, chained or not, adds to the digests of its chain's count: its SHA-256 as a number."""
    return int.from_bytes(digest(ORIGIN, line(row, 0)))


def chained(row: Any) -> AuditRecorded:
    """A chained row as it is exported."""
    return AuditRecorded(**msgspec.structs.asdict(line(row, row["number"])), hash=row["hash"].hex())


def sealed(seal: Seal) -> bytes:
    """What is stored of a seal."""
    return secret_box.get().seal(msgspec.json.encode(seal).decode(), secret_box.place(AuditChain.sealed, seal.chain))


def unsealed(chain: str, stored: bytes) -> Seal:
    """The seal of a chain. Raise OperatorError for one that was not made with our keys, or is another chain's."""
    seal = msgspec.json.decode(secret_box.get().open(stored, secret_box.place(AuditChain.sealed, chain)), type=Seal)
    if seal.chain != chain:
        raise OperatorError(f"the seal of {chain} is that of {seal.chain}")
    return seal
