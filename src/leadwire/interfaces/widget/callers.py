"""What is kept of the network that a visitor comes from."""

import functools

from leadwire.infrastructure import secret_box
from leadwire.interfaces.widget import visitor


def blinded(workspace: str, seen: str) -> bytes:
    """A keyed hash, to block by."""
    return visitor.blind(workspace, seen, _key())


@functools.cache
def _key() -> bytes:
    return secret_box.get().derived("visitors' networks")
