"""Images, links and buttons of a flow: how they are told, stored and shown, and which addresses are refused."""

import pytest

from leadwire.domain.bots.flow import attachments, engine
from leadwire.domain.bots.flow.attachments import Shown
from leadwire.domain.bots.flow.engine import Consented, Reply
from leadwire.domain.bots.flow.nodes import Image, Link, Say
from leadwire.domain.bots.flow.parse import BadFlow, parse
from leadwire.domain.conversations.schema import MAX_TEXT
from tests.domain.bots.flows import SMALL

IMAGE = 'image = { url = "https://cdn.example.com/a.png?b=c&d=e", alt = "Our office" }'
LINKS = 'links = [{ label = "Privacy", url = "https://www.acme.example/privacy" }]'
FLOW = f"""
format = 1
start = "hello"

[[nodes]]
type = "say"
id = "hello"
text = "Hi {{{{email_domain|there}}}}."
{IMAGE}
{LINKS}
next = "consent"

[[nodes]]
type = "ask"
id = "consent"
text = "May we write to you?"
{LINKS}
input = "choice"
options = [
    {{ label = "Yes", consent = true }},
    {{ label = "Book a call", url = "https://www.example.com/call" }},
]
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Bye."
"""
FOUR = "links = [" + '{ label = "a", url = "https://a.example/" },' * 4 + "]"
MANY = "options = [" + '{ label = "a" },' * 10_000
END = "Our office: https://cdn.example.com/a.png?b=c&d=e\nPrivacy: https://www.acme.example/privacy"


def test_images_and_links_are_lines_of_the_text_and_are_found_in_it_again():
    flow = parse(FLOW)
    state, told = engine.begin(flow)
    assert told[0] == Reply(f"Hi there.\n{END}", personal=True)
    assert told[1].text == "May we write to you?\nPrivacy: https://www.acme.example/privacy"
    image, link = (
        Image("https://cdn.example.com/a.png?b=c&d=e", "Our office"),
        Link("Privacy", "https://www.acme.example/privacy"),
    )
    for nodes in (flow.nodes, flow.nodes[::-1]):  # the links of one node are the end of the other's lines
        assert attachments.shown(told[0].text, nodes) == Shown("Hi there.", image, (link,))
    assert attachments.shown(told[1].text, flow.nodes) == Shown("May we write to you?", None, (link,))
    assert attachments.shown("Bye.", flow.nodes) is None
    assert engine.prompt(flow, state).links == {"Book a call": "https://www.example.com/call"}


def test_what_is_consented_to_is_what_the_visitor_read():
    flow = parse(FLOW)
    _, effects = engine.step(flow, engine.begin(flow)[0], "Yes")
    read = "May we write to you?\nPrivacy: https://www.acme.example/privacy"
    assert [one for one in effects if isinstance(one, Consented)] == [Consented("consent", read, "Yes", given=True)]


def test_a_message_never_gets_too_long_for_its_links():
    address = f"https://example.com/{'a' * 480}"
    node = Say(id="a", text="x", image=Image(address, "b" * 200), links=(Link("c" * 60, address),) * 3, next="b")
    told = attachments.content("x" * MAX_TEXT, node)
    assert len(told) == MAX_TEXT
    assert attachments.shown(told, [node]).links == node.links


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,hi",
        "http://www.example.com/",
        "https:www.example.com",
        "https:///www.example.com",
        "https://",
        "https://localhost/a",
        "https://ada:secret@www.example.com/",
        "https://www.example.com/a b",
        "https://www.example.com/\\u00e4",
        "https://www.example.com:99999/",
        "https://[::1",
        "https://www.example.com/<b>",
        "//www.example.com/a",
        " https://www.example.com/",
    ],
)
@pytest.mark.parametrize(
    "place",
    ["https://cdn.example.com/a.png?b=c&d=e", "https://www.acme.example/privacy", "https://www.example.com/call"],
)
def test_only_addresses_of_pages_are_accepted(address, place):
    with pytest.raises(BadFlow) as refused:
        parse(FLOW.replace(place, address))
    for flaw in refused.value.flaws:
        assert flaw.code == "address"
        assert flaw.line in (9, 10, 17, 19)
        assert "is no address of the form https://www.example.com/page." in flaw.message


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (', alt = "Our office"', "", "line 9, node 'hello': 'image.alt' is missing."),
        ('alt = "Our office"', 'alt = ""', "line 9, node 'hello': image.alt: Expected `str` of length >= 1."),
        (LINKS, FOUR, "line 10, node 'hello': links: Expected `array` of length <= 3."),
        ('text = "Bye."', LINKS, "line 28, node 'bye': An image or a link needs a text."),
        ("options = [", MANY, "line 19, node 'consent': options: Expected `array` of length <= 20."),
    ],
)  # fmt: skip
def test_a_fault_names_its_line(old, new, told):
    with pytest.raises(BadFlow) as refused:
        parse(FLOW.replace(old, new, 1))
    assert str(refused.value.flaws[0]) == told


def test_a_flow_without_them_says_what_it_said():
    flow = parse(SMALL)
    assert engine.begin(flow)[1] == [Reply("Your e-mail?")]
    assert attachments.shown("Your e-mail?", flow.nodes) is None
