"""What simulated visitors say. Made from a seeded random generator: the same seed, the same visit."""

import random
from typing import Final, Literal

from msgspec import Struct

from leadwire.domain.conversations.schema import Origin, Role
from leadwire.domain.leads.schema import LeadPatch, Source

BOTS: Final = ("Lead qualification", "Demo booking", "Support triage")

_FIRST: Final = (
    "Ada", "Bo", "Chen", "Dina", "Emil", "Fatou", "Grace", "Hugo", "Ines", "Jonas", "Kofi", "Lena", "Mina", "Noor",
    "Omar", "Priya", "Quinn", "Rosa", "Sven", "Tomás",
)  # fmt: skip
_LAST: Final = (
    "Adeyemi", "Bauer", "Costa", "Dubois", "Eriksen", "Fischer", "Gupta", "Haddad", "Ito", "Jansen", "Kowalski",
    "López", "Müller", "Novak", "Okafor",
)  # fmt: skip
_COMPANIES: Final = (
    "Acorn", "Beacon", "Cobalt", "Driftwood", "Ember", "Foxglove", "Granite", "Harbor", "Inkwell", "Juniper",
    "Kestrel", "Lantern",
)  # fmt: skip
_PAGES: Final = ("/", "/pricing", "/pricing?plan=team", "/product", "/docs/start", "/blog/webhooks", "/contact")
_CAMPAIGNS: Final = (None, None, "spring-launch", "newsletter", "partner-week")
_REFERRERS: Final = (None, "https://www.google.com/", "https://news.ycombinator.com/", "https://www.linkedin.com/")
_SIZES: Final = ("1-10", "11-50", "51-200", "201-1000")
_OPENERS: Final = (
    ("Hi! I am comparing a few tools.", "Happy to help. What matters most to you?", "Reliable webhooks, honestly."),
    ("What does the team plan cost?", "It depends on seats. How large is your team?", "About twenty people."),
    ("Can I see a demo?", "Of course. Which days suit you?", "Thursday or Friday."),
    ("Our import is stuck.", "Sorry about that. What do you see?", "It says 'queued' since this morning."),
    ("¿Tienen soporte en español?", "Sí. ¿En qué puedo ayudar?", "Quiero integrar nuestro CRM."),
)

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


def visit(random_: random.Random, number: int, *, lead_share: float = 0.68) -> Visit:
    """The `number`-th visit; numbers keep e-mail addresses apart."""
    pick = random_.choice
    first, last, company = pick(_FIRST), pick(_LAST), pick(_COMPANIES)
    source = Source(pick(_PAGES), pick(_CAMPAIGNS), pick(_REFERRERS))
    origin = Origin(
        source=source,
        locale=pick(("en-GB", "en-US", "de-DE", "es-ES", "fr-FR")),
        timezone=pick(("Europe/Berlin", "America/New_York", "Asia/Tokyo", "Europe/Madrid")),
        browser=pick(("Firefox", "Chrome", "Safari")),
        os=pick(("Windows", "macOS", "Linux", "iOS", "Android")),
    )
    asks, replies, tells = pick(_OPENERS)
    lines = [Line("user", asks), Line("bot", replies), Line("user", tells)]
    lead = None
    if random_.random() < lead_share:
        email = f"{first}.{last}.{number}@{company}.example".lower()
        lead = LeadPatch(
            name=f"{first} {last}",
            email=email,
            company=company,
            score=random_.randrange(5, 70),
            custom_fields={
                "team_size": pick(_SIZES),
                **({"budget": pick(("5000", "20000"))} if random_.random() < 0.4 else {}),
            },
        )
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
