"""/docs: every page is well-formed, every link leads somewhere, and everything of the API is on it."""

import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from leadwire.delivery.envelope import KINDS
from leadwire.domain.webhooks import samples
from leadwire.interfaces.docs import build, markdown

PACKAGE = Path(markdown.__file__).parents[2]
_VOID = {"meta", "link", "wbr", "img", "input", "br", "hr"}
NAMES = markdown.contents().names


class _Reader(HTMLParser):
    """Notes ids, links and tags, and that what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
async def pages(anonymous) -> dict[str, str]:
    return {name: (await anonymous.get(f"/docs/{name}")).text for name in NAMES}


async def test_a_page_allows_nothing_foreign(anonymous):
    answer = await anonymous.get("/docs/start")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
    )
    assert "unsafe" not in policy
    assert (await anonymous.head("/docs/start")).status_code == 200


async def test_the_documentation_begins_with_its_first_page(anonymous):
    assert (await anonymous.get("/docs")).headers["location"] == "/docs/start"
    for nothing in ("/docs/nothing", "/docs/layout.html", "/docs/..%2fsamples.toml"):
        assert (await anonymous.get(nothing)).status_code == 404


async def test_pages_are_well_formed_and_every_link_leads_somewhere(anonymous, pages):
    read = {f"/docs/{name}": _Reader(text) for name, text in pages.items()}
    for address, page in read.items():
        assert page.open == [], address
        assert len(page.ids) == len(set(page.ids)), address
        assert not page.tags & {"style", "iframe"}
        assert not {name for name in page.attributes if name.startswith("on") or name == "style"}
        for link in page.links:
            path, _, anchor = link.partition("#")
            if (path or address) in read:
                assert not anchor or anchor in read[path or address].ids, f"{address}: {link}"
            elif not path.startswith("https://"):
                assert (await anonymous.get(path)).status_code == 200, f"{address}: {link}"


async def test_each_page_that_is_written_is_there_as_markdown_whose_links_lead_to_markdown(anonymous, pages):
    written = [page.name for page in markdown.pages(markdown.contents())]
    for name in written:
        answer = await anonymous.get(f"/docs/{name}.md")
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.text.startswith("# ")
        assert "client-VERSION" not in answer.text
        assert f'href="/docs/{name}.md"' in pages[name]
        for link in re.findall(r"]\((/docs/[^)#]*)", answer.text):
            assert link.removeprefix("/docs/").removesuffix(".md") in NAMES, f"{name}: {link}"
            assert link.endswith(".md") == (link.removeprefix("/docs/").removesuffix(".md") in written), (
                f"{name}: {link}"
            )
    assert (await anonymous.get("/docs/reference.md")).status_code == 404


async def test_every_program_that_verifies_is_on_its_page_and_in_its_markdown(anonymous, pages):
    source = (await anonymous.get("/docs/receiving-webhooks.md")).text
    for shown in (samples.verifiers(), samples.key_verifiers()):
        for language, program in shown.items():
            assert f"<summary>{language}</summary>" in source
            assert f"\n{program}```\n" in source
            assert escape(program, quote=False).replace('"', "&quot;") in pages["receiving-webhooks"]
    assert ".txt" not in source


async def test_programs_find_every_page(anonymous):
    """https://llmstxt.org"""
    answer = await anonymous.get("/llms.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith("# Leadwire\n\n> ")
    linked = re.findall(r"^- \[.+?]\((/docs/[^)]+)\)", answer.text, re.MULTILINE)
    assert [link.removeprefix("/docs/").removesuffix(".md") for link in linked] == [
        name for _, names in markdown.contents().groups for name in names
    ]
    for link in linked:
        assert (await anonymous.get(link)).status_code == 200
    assert answer.text.index("## For operators") > answer.text.index("/docs/changelog.md"), "integrators first"


async def test_pages_are_small_and_quick_to_load(pages):
    assert max(map(len, pages.values())) < 200_000


async def test_every_document_is_a_page():
    contents = markdown.contents()
    written = {page.name for page in markdown.pages(contents)}
    files = {path.name.removesuffix(".md") for path in markdown._FOLDER.iterdir() if path.name.endswith(".md")}
    assert files <= written
    assert set(contents.names) - written == set(markdown.GENERATED)


async def test_the_type_of_a_problem_leads_to_its_explanation(client, pages):
    anchors = _Reader(pages["errors"]).ids
    for answer in (await client.get("/v1/leads?x=1"), await client.get("/v1/leads/x"), await client.put("/v1/leads")):
        page, _, anchor = answer.json()["type"].partition("#")
        assert page.endswith("/docs/errors")
        assert anchor in anchors
        assert anchor == answer.json()["code"]


@pytest.mark.parametrize(
    "path",
    [
        *("interfaces/v1", "interfaces/widget", "domain/bots/visitors", "domain/conversations/plan.py"),
        *("domain/conversations/schema.py", "domain/conversations/changes/seen.py", "domain/webhooks/receivers.py"),
        *("domain/notices/changes/transcript.py", "domain/exports", "domain/leads/identity.py"),
        "domain/bots/schema.py",
    ],
)
async def test_each_code_that_a_program_can_get_is_explained(pages, path):
    anchors = _Reader(pages["errors"]).ids
    files = [PACKAGE / path] if path.endswith(".py") else sorted((PACKAGE / path).rglob("*.py"))
    codes = [code for file in files for code in re.findall(r'\bcode="(\w+)"', file.read_text())]
    assert sorted(set(codes) - set(anchors)) == []


async def test_the_whole_api_is_there(anonymous, pages):
    document = (await anonymous.get("/schema")).json()
    for kind in KINDS:
        assert kind in pages["event-catalog"]
    plain = re.sub(r"<wbr>", "", pages["reference"])
    for path, item in document["paths"].items():
        assert path in plain
        for operation in item.values():
            article = plain.partition(f'<article id="{operation["operationId"]}">')[2].partition("</article>")[0]
            assert all(f"<summary>{one}</summary>" in article for one in ("curl", "Python", "Try it"))
            for parameter in operation["parameters"]:
                assert parameter.get("name", parameter.get("$ref", "").rpartition("/")[2]) in article
            for status in operation["responses"]:
                assert status in article
    codes = set(re.findall(r'"code": ?\{[^}]*"enum": ?\[([^\]]+)\]', json.dumps(document)))
    for code in {one.strip(' "') for found in codes for one in found.split(",")}:
        assert f'<dt id="{code}">' in pages["errors"]


async def test_the_search_has_every_heading(anonymous, pages):
    index = (await anonymous.get("/docs/search.json")).json()
    assert {page for page, *_ in index} == set(NAMES)
    assert ["receiving-webhooks", "checkpoints", "Receiving webhooks", "Checkpoints"] in [one[:4] for one in index]
    assert ["errors", "rate_limited", "Errors", "rate_limited"] in [one[:4] for one in index]


async def test_texts_are_escaped(anonymous):
    document = (await anonymous.get("/schema")).json()
    document["paths"]["/v1/leads"]["get"]["summary"] = '<b>"&<script>'
    document["paths"]["/v1/leads"]["get"]["description"] = "`<i>`"
    made = build(document)["reference"][0].decode()
    assert made.count("<script src=") == made.count("<script")  # the page's own
    assert "&lt;b&gt;&#34;&amp;" in made
    assert "<code>&lt;i&gt;</code>" in made
