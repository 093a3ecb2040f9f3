"""Templates to HTML: one environment, escaping on, an unknown name is an error."""

import functools
import math
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup, escape

from leadwire.domain.bots.builder import variables
from leadwire.domain.bots.look import LANGUAGES
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.webhooks import explain, samples
from leadwire.infrastructure import clock, preconditions, settings, user_agents
from leadwire.interfaces.http import assets
from leadwire.interfaces.web import charts, faces, lead_form

_TOKEN: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<str>"(?:[^"\\]|\\.)*")'
    r"|(?P<num>-?\b\d[\d.eE+-]*\b)|(?P<lit>\b(?:true|false|null)\b)"
)
_OPENED: Final = {kind: Markup('<i class="{}">').format(kind) for kind in _TOKEN.groupindex}
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')
_LARGEST: Final = 8 * 1024  # characters that are indented and colored
_DEEPEST: Final = 32
_ADDRESS: Final = re.compile(r"""https?://\w[^\s<>"]*""", re.IGNORECASE)
_UNITS: Final = ((86_400, "day"), (3600, "hr."), (60, "min."), (1, "sec."))
_LASTING: Final = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"), (0, 1, "s"))  # from when, size, unit
LOADERS: Final[list[jinja2.BaseLoader]] = [jinja2.PackageLoader("leadwire.interfaces.web", "templates")]
_FRAMED: Final = ("bots", "public", "webhooks")  # folders of templates


class Term(msgspec.Struct, frozen=True):
    """A term of ours, which screens explain where it is met, and what it means."""

    name: str
    text: str


TERMS: Final = msgspec.toml.decode(Path(__file__).with_name("glossary.toml").read_bytes(), type=dict[str, Term])


def render(template: str, context: dict[str, Any]) -> str:
    """The page. Raises jinja2.UndefinedError when the template uses what the screen did not give.

    A template makes `main`. What is around it is made by a layout, of all that the template has set besides: the layout
    that it names, else the frame of its folder, else the page with the menu. Around a layout may be another one.
    """
    main, layout = "", template
    while layout:
        module = environment().get_template(layout).make_module({**context, "main": Markup(main)})  # noqa: S704 - ours
        main, context = str(module), context | {name: value for name, value in vars(module).items() if name[0] != "_"}
        folder = layout.partition("/")[0]
        frame = f"{folder}/frame.html" if folder in _FRAMED else "page.html"
        layout = context.pop("layout", "page.html" if layout == frame else frame)
    return main


@functools.cache
def environment() -> jinja2.Environment:
    """The one environment, with the filters and functions that every template may use."""
    jinja = jinja2.Environment(
        loader=jinja2.ChoiceLoader(LOADERS),
        auto_reload=False,  # what an upgrade puts there is for the screens of another version
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.globals |= {"KINDS": tuple(samples.bodies()), "GROUPS": samples.GROUPS, "TERMS": TERMS}
    jinja.globals |= {"LANGUAGES": LANGUAGES, "asset": assets.address, "mail_enabled": mail_reads.enabled}
    jinja.globals |= {"LEAD_TEXTS": lead_form.TEXT_FIELDS, "egress_addresses": lambda: settings.get().egress_addresses}
    jinja.globals |= {value.__name__: value for value in (charts.Plot, charts.Series, charts.spark)}
    filters = (ago, due, waits, lasting, brief, linked, pretty, count, percent, host, charts.ms, charts.short)
    others = (samples.briefly, user_agents.browser_name, faces.face, faces.nickname, explain.meaning, datetime.strftime)
    jinja.tests["question"] = variables.is_question
    jinja.filters |= {function.__name__: function for function in (*filters, *others, preconditions.digest)}
    parts = vars(jinja.get_template("parts.html").module)
    jinja.globals |= {name: macro for name, macro in parts.items() if isinstance(macro, jinja2.runtime.Macro)}
    return jinja


def ago(at: datetime | str | None) -> Markup:
    """A time as a relative one, which the page keeps fresh, with UTC on hover. Nothing becomes a dash."""
    if at is None:
        return Markup('<span class="muted">—</span>')
    if isinstance(at, str):
        at = clock.parse(at)
    told = relative((at - clock.now()).total_seconds(), f"{at:%Y-%m-%d}")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        clock.iso(at), f"{at:%a %d %b %Y %H:%M:%S}", told
    )


def due(at: datetime | str) -> Markup:
    """A time that is still to come, as `ago`: what is late is due now."""
    return ago(max(clock.parse(at) if isinstance(at, str) else at, clock.now()))


def relative(seconds: float, day: str) -> str:
    """How far away a time is, in the words that browsers have for it, so that nothing moves when they retell it; the
    `day` of one that is more than 30 days away. The past is rounded down, so that it agrees with a wait beside it.
    """
    if abs(seconds) > 30 * 86_400:
        return day
    size, unit = next((entry for entry in _UNITS if abs(seconds) >= entry[0]), _UNITS[-1])
    count = math.ceil(seconds / size) if seconds < 0 else math.floor(seconds / size + 0.5)
    unit = f"{unit}s" if unit == "day" and abs(count) > 1 else unit
    words = {(0, "sec."): "now", (-1, "day"): "yesterday", (1, "day"): "tomorrow"}
    return words.get((count, unit)) or (f"in {count} {unit}" if count > 0 else f"{-count} {unit} ago")


def waits(since: datetime) -> Markup:
    """For how long somebody waits, which the page keeps fresh and colors when it is long."""
    return Markup('<time datetime="{}" title="since {:%H:%M:%S} UTC" data-waits="{}">{}</time>').format(
        clock.iso(since), since, waiting(clock.now() - since), lasting(clock.now() - since)
    )


def waiting(span: timedelta) -> str:
    """Whether a wait is one of which something has to be said: `late` from 5 minutes on, `long` from 15."""
    minutes = span.total_seconds() / 60
    return "long" if minutes >= 15 else "late" if minutes >= 5 else ""


def lasting(span: timedelta) -> str:
    """45 s, 12 min, 3 h, 2 days: rounded down."""
    seconds = max(0, int(span.total_seconds()))
    size, unit = next((size, unit) for least, size, unit in _LASTING if seconds >= least)
    return f"{seconds // size} {unit}"


def brief(ident: str) -> Markup:
    """An id that people can tell apart: its kind and its last letters; the whole of it on hover."""
    kind, _, rest = ident.partition("_")
    return Markup('<span title="{}">{}_…{}</span>').format(ident, kind, rest[-6:])


def linked(text: str) -> Markup:
    """A text whose http and https addresses are links to another tab; punctuation after one is not part of it."""
    parts, at = [], 0
    for match in _ADDRESS.finditer(text):
        url = match[0].rstrip(".,;:!?'*_" + ("" if "(" in match[0] else ")"))
        link = Markup('<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>').format(url)
        parts += [escape(text[at : match.start()]), link]
        at = match.start() + len(url)
    return Markup().join([*parts, escape(text[at:])])


def pretty(text: str | bytes | None) -> Markup:
    """JSON indented and colored; anything else as it is, and so is JSON that is large or nested deeply: indented, it
    grows with the square of its depth.
    """
    if text is None:
        return Markup()
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if len(plain) > _LARGEST or _depth(plain) > _DEEPEST:
        return escape(plain)
    try:
        lines = msgspec.json.format(plain, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return escape(plain)
    parts, at = [], 0
    for match in _TOKEN.finditer(lines):
        parts += [escape(lines[at : match.start()]), _OPENED[match.lastgroup or ""], escape(match[0]), Markup("</i>")]
        at = match.end()
    return Markup().join([*parts, escape(lines[at:])])


def _depth(text: str) -> int:
    """How deeply brackets are nested, those in strings apart."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1 if match[0] in "]}" else 0
        deepest = max(deepest, depth)
    return deepest


def count(number: int) -> str:
    """1,234,567."""
    return f"{number:,}"


def percent(share: float | None) -> str:
    """0.9987 -> 99.87 %; nothing -> a dash. Never rounds a failure away."""
    if share is None:
        return "—"
    return f"{share:.0%}".replace("%", " %") if share in (0, 1) else f"{min(share * 100, 99.99):.2f} %"


def host(url: str) -> str:
    """A URL without its scheme."""
    return url.partition("://")[2] or url
