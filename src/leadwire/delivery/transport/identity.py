"""The client certificate that is shown to a receiver."""

from typing import NamedTuple

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import PyreqwestError


class Identity(NamedTuple):
    """A key, its certificate and the chain of that, as PEM. `owner`: whose; no two owners share a connection."""

    owner: str
    pem: str

    def __repr__(self) -> str:
        """Without the key: this may end up in a log."""
        return f"Identity({self.owner})"


def check(pem: str) -> None:
    """Raise ValueError when the HTTP client cannot use it."""
    try:
        ClientBuilder().identity_pem(pem.encode()).build()
    except (PyreqwestError, ValueError) as error:
        raise ValueError(str(error)) from error
