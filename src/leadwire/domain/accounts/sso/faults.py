"""Whatever can be wrong with a sign-on, each by its name, with an advice. Pure."""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.infrastructure.errors import DomainError


class Fault(Struct, frozen=True):
    what: str
    advice: str = "Tell an admin of your team: Settings, Single sign-on, Test names what is wrong."


FAULTS: Final = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, Fault])
"""What is wrong, and what helps, by the name of the fault."""


class SignOnRefused(DomainError, status=400, code="sign_on_refused", title="You are not signed in"):
    """A sign-on failed. `told` is what only admins may see: it can name addresses, and what the provider said."""

    def __init__(self, fault: str, told: str = "") -> None:
        super().__init__(FAULTS[fault].what)
        self.advice = FAULTS[fault].advice
        self.fault = fault
        self.told = told[:300]
