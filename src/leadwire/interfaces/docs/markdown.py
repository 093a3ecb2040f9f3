"""The Markdown of `leadwire/docs` as pages: HTML, headings, texts to search in. The Markdown is ours, not a user's."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from msgspec import Struct

from leadwire.infrastructure.errors import OperatorError

PREFIX: Final = "/docs/"
GENERATED: Final = ("reference", "event-catalog", "errors")
"""Pages that are made from the OpenAPI document."""
_FOLDER: Final = resources.files("leadwire") / "docs"
_RUNBOOKS: Final = _FOLDER / "runbooks"
_REPLACED: Final = {  # wide ones scroll, by keyboard, too
    "<table": '<div class="table" tabindex="0"><table',
    "</table>": "</table></div>",
    "<pre>": '<pre tabindex="0">',
    "<li>[ ] ": '<li class="open">',
}
_LINK: Final = re.compile(r"(?P<file>[^#]*\.md)?(?P<anchor>#.*)?")
_PROGRAM: Final = re.compile(r"^- \[(?P<title>.+)]\((?P<file>\S+/(?P<language>[a-z]+)[a-z-]*\.txt)\)$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^:\n]{20,}?\.(?=\s|$)")
_LINKED: Final = re.compile(r"(?<=\]\()[^)\s]+(?=\))")


class Section(Struct, frozen=True):
    """A heading and what stands below it, as plain text. The level of a page's title is 1."""

    anchor: str
    heading: str
    level: int
    text: str


class Page(Struct, frozen=True):
    """A page of the documentation."""

    name: str
    title: str
    html: Markup
    sections: list[Section]
    source: str = ""
    """Its Markdown, whose links lead to Markdown; empty where it is made from the OpenAPI document."""

    @property
    def summary(self) -> str:
        """Its first sentence; empty where it begins with a list."""
        match = _SENTENCE.match(self.sections[0].text)
        return match[0] if match else ""


class Contents(Struct, frozen=True):
    """Which pages there are, by the title of their group."""

    groups: list[tuple[str, list[str]]]
    elsewhere: dict[str, str]
    runbooks: list[str]
    """What to do about each condition; the page `on-call` names them."""

    @property
    def names(self) -> list[str]:
        """The names of all pages, in their order."""
        return [*(name for _, names in self.groups for name in names), *self.runbooks]


def contents() -> Contents:
    """Read which pages there are."""
    read = tomllib.loads((_FOLDER / "contents.toml").read_text())
    runbooks = sorted(file.name.removesuffix(".md") for file in _RUNBOOKS.iterdir())
    return Contents([(group["title"], group["pages"]) for group in read["groups"]], read["elsewhere"], runbooks)


def pages(contents: Contents) -> Iterator[Page]:
    """The pages that are written in Markdown."""
    other = {name: file for file, name in contents.elsewhere.items()}
    for name in contents.names:
        file = (_RUNBOOKS if name in contents.runbooks else _FOLDER) / f"{name}.md"
        if not file.is_file() and name in other:
            file = _FOLDER / other[name]
        if file.is_file():
            yield _page(name, file, contents)


def _page(name: str, file: Traversable, contents: Contents) -> Page:
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = _PROGRAM.sub(_shown, file.read_text())
    tokens = markdown.parse(text)
    sections = _sections(tokens)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs["href"] = _address(str(child.attrs["href"]), contents, name)
    html = markdown.renderer.render(tokens, markdown.options, {})
    for ours, better in _REPLACED.items():
        html = html.replace(ours, better)
    source = _LINKED.sub(lambda link: _address(link[0], contents, name, ".md"), text)
    return Page(name, sections[0].heading, Markup(html), sections, source)  # noqa: S704 - the files are ours


def _shown(link: re.Match[str]) -> str:
    """A program in place of the line that links to its file; that in Python is open."""
    title, file, language = link.groups()
    opened = " open" if language == "python" else ""
    program = (_FOLDER / file).read_text()
    return f"<details{opened}>\n<summary>{title}</summary>\n\n```{language}\n{program}```\n\n</details>\n"


def _sections(tokens: Sequence[Token]) -> list[Section]:
    """Give every heading its anchor, as GitHub does, and return what stands below each."""
    parts: list[tuple[str, str, int, list[str]]] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following:
            heading = _plain(following)
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            token.attrSet("id", anchor)
            parts.append((anchor, heading, int(token.tag[1]), []))
        elif parts and token.type in ("inline", "fence") and token.content != parts[-1][1]:
            parts[-1][3].append(_plain(token))
    return [Section(anchor, heading, level, " ".join(texts)) for anchor, heading, level, texts in parts]


def _plain(token: Token) -> str:
    """What is read of it, without the marks of Markdown."""
    if token.children is None:
        return token.content
    texts = {"text": None, "code_inline": None, "softbreak": " ", "hardbreak": " "}
    return "".join(texts[child.type] or child.content for child in token.children if child.type in texts)


def _address(href: str, contents: Contents, page: str, kind: str = "") -> str:
    """Where a link of the Markdown leads at /docs. Raise OperatorError where it leads nowhere."""
    match = _LINK.fullmatch(href)
    if not match or not match["file"]:
        return href
    name = contents.elsewhere.get(match["file"], match["file"].removesuffix(".md").rpartition("/")[2])
    if name not in contents.names:
        raise OperatorError(f"{page}: the documentation has no page for {href}")
    return f"{PREFIX}{name}{kind if name not in GENERATED else ''}{match['anchor'] or ''}"
