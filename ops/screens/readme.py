"""The pictures in the README, and what they were made of: the lines of the templates and styles behind each."""

import json
import shutil
import zlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, meta

from ops.package import ROOT

FOLDER = Path(__file__).with_name("pictures")
MADE_OF = FOLDER / "made-of.json"
PICTURES = {
    "delivery": ("dead-letter", "webhooks/delivery.html"),
    "inbox": ("inbox-thread", "inbox/inbox.html"),
    "bot": ("bot", "bots/builder.html"),
}
"""Each with its screen, and the template of that."""
_WEB = ROOT / "src" / "leadwire" / "interfaces" / "web"
_ENVIRONMENT = Environment(loader=FileSystemLoader(_WEB / "templates"), autoescape=True)


def lines(template: str) -> set[str]:
    """A checksum of each line of a template, of those that it extends, includes or imports, and of all styles."""
    names, seen = {template}, set[str]()
    while names:
        seen |= names
        sources = [(_WEB / "templates" / name).read_text() for name in names]
        found = {name for text in sources for name in meta.find_referenced_templates(_ENVIRONMENT.parse(text))}
        names = {name for name in found if name} - seen
    files = [*(_WEB / "templates" / name for name in seen), *(_WEB / "static").glob("*.css")]
    return {
        f"{zlib.crc32(line.strip().encode()) & 0xFFFF:04x}" for path in files for line in path.read_text().split("\n")
    }


def share(picture: str) -> float:
    """How much of what is behind a picture today was there when it was taken, from 0 to 1."""
    today, made_of = lines(PICTURES[picture][1]), set(json.loads(MADE_OF.read_text())[picture].split())
    return len(today & made_of) / len(today | made_of)


def keep(taken: Path) -> None:
    """Make pictures of the README of those in `taken`, and note what they were made of."""
    for picture, (screen, _) in PICTURES.items():
        shutil.copy(taken / f"{screen}-light-desk.png", FOLDER / f"{picture}.png")
    made_of = {picture: " ".join(sorted(lines(template))) for picture, (_, template) in PICTURES.items()}
    MADE_OF.write_text(json.dumps(made_of, indent=0) + "\n")
