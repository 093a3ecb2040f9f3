"""What is kept of the network that a visitor comes from."""

import functools

from leadwire.widget import visitor
from leadwire.wire import keyring


def blinded(workspace: str, seen: str) -> bytes:
    """A keyed hash, to block by."""
    return visitor.blind(workspace, seen, _key())


@functools.cache
def _key() -> bytes:
    return keyring.get().derived("visitors' networks")
