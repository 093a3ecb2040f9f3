"""/docs: every operation, event and error, without a script or anybody else's server."""

import re
from html.parser import HTMLParser

import pytest

from leadwire.delivery.envelope import KINDS
from leadwire.interfaces.v1.openapi.page import page

_VOID = {"meta", "link", "wbr"}


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
async def text(anonymous) -> str:
    return (await anonymous.get("/docs")).text


async def test_it_is_a_page_that_allows_nothing_foreign(anonymous):
    answer = await anonymous.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    assert (await anonymous.head("/docs")).status_code == 200


async def test_it_is_well_formed_and_every_link_leads_somewhere(anonymous, text):
    read = _Reader(text)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert not read.tags & {"script", "style", "img", "iframe", "form"}
    assert not {name for name in read.attributes if name.startswith("on") or name == "style"}
    for link in read.links:
        if link.startswith("#"):
            assert link[1:] in read.ids
        else:
            assert (await anonymous.get(link)).status_code == 200, link
    style = await anonymous.get("/docs.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "url(" not in style.text


async def test_the_type_of_a_problem_leads_to_its_explanation(client, text):
    anchors = _Reader(text).ids
    for answer in (await client.get("/v1/leads?x=1"), await client.get("/v1/leads/x"), await client.put("/v1/leads")):
        page, _, anchor = answer.json()["type"].partition("#")
        assert page == "/docs"
        assert anchor in anchors
        assert anchor == f"error-{answer.json()['code']}"


async def test_everything_is_on_it(anonymous, text):
    document = (await anonymous.get("/schema")).json()
    for kind in KINDS:
        assert kind in text
    plain = re.sub(r"<wbr>", "", text)
    for path, item in document["paths"].items():
        assert path in plain
        for operation in item.values():
            article = plain.partition(f'<article id="{operation["operationId"]}">')[2].partition("</article>")[0]
            assert "curl" in article
            for parameter in operation["parameters"]:
                assert parameter.get("name", parameter.get("$ref", "").rpartition("/")[2]) in article
            for status in operation["responses"]:
                assert status in article
            for code in re.findall(r'"enum":\[([^\]]+)\]', str(operation)):
                assert code in article


async def test_texts_are_escaped(anonymous):
    document = (await anonymous.get("/schema")).json()
    document["info"]["title"] = "<script>"
    document["paths"]["/v1/leads"]["get"]["summary"] = '<b>"&'
    document["paths"]["/v1/leads"]["get"]["description"] = "`<i>`"
    made = page(document)
    assert "<script>" not in made
    assert "&lt;b&gt;&#34;&amp;" in made
    assert "<code>&lt;i&gt;</code>" in made
