"""What simulated visitors say. Made from a seeded random generator: the same seed, the same visit."""

import random
import tomllib
import unicodedata
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from leadwire.domain.conversations.schema import Origin, Role
from leadwire.domain.leads.schema import LeadPatch, Source

BOTS: Final = ("Lead qualification", "Demo booking", "Support triage")
_CHOICES: Final[dict[str, list[Any]]] = tomllib.loads(Path(__file__).with_name("visits.toml").read_text())

Ending = Literal["ended", "handoff", "active"]


class Line(Struct, frozen=True):
    """One message; `answers` names the lead field it tells."""

    role: Role
    text: str
    answers: str | None = None


class Visit(Struct, frozen=True):
    """Everything a visitor does: `lead` is captured after the last line that answers something."""

    bot: int  # which of BOTS
    origin: Origin
    lines: tuple[Line, ...]
    lead: LeadPatch | None
    later_score: int | None
    ending: Ending


def visit(random_: random.Random, *, lead_share: float = 0.68) -> Visit:
    """One visit. Now and then somebody comes back, with the address that is known already."""

    def pick(what: str) -> Any:
        return random_.choice(_CHOICES[what]) or None

    first, last, company = pick("first_names"), pick("last_names"), pick("companies")
    origin = Origin(
        source=Source(pick("pages"), pick("campaigns"), pick("referrers")),
        locale=pick("locales"),
        timezone=pick("timezones"),
        browser=pick("browsers"),
        os=pick("systems"),
    )
    asks, replies, tells = pick("openers")
    lines = [Line("user", asks), Line("bot", replies), Line("user", tells)]
    lead = None
    if random_.random() < lead_share:
        plain = unicodedata.normalize("NFD", f"{first}.{last}@{company}.example".lower())
        email = plain.encode("ascii", "ignore").decode()
        score, fields = random_.randrange(5, 70), {"team_size": pick("team_sizes")}
        if random_.random() < 0.4:
            fields["budget"] = pick("budgets")
        lead = LeadPatch(f"{first} {last}", email, company=company, score=score, custom_fields=fields)
        lines += [
            Line("bot", "What is your name?"),
            Line("user", f"{first} {last}", "name"),
            Line("bot", "And your work e-mail?"),
            Line("user", email, "email"),
            Line("bot", f"Thank you, {first}. We will be in touch."),
        ]
    later = random_.randrange(70, 100) if lead and random_.random() < 0.3 else None
    ending: Ending = random_.choices(("ended", "handoff", "active"), (80, 12, 8))[0]
    return Visit(random_.randrange(len(BOTS)), origin, tuple(lines), lead, later, ending)
