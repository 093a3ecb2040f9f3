"""Images, links and dates on their way to a visitor, and what everybody else reads of them."""

from leadwire.domain.conversations import reads
from leadwire.infrastructure import db
from tests.domain.bots.conftest import published
from tests.domain.bots.flow import test_attachments
from tests.interfaces.widget.conftest import Caller

FLOW = test_attachments.FLOW.replace(
    'text = "Bye."', 'text = "Bye."\nlinks = [{ label = "Home", url = "https://a.example/" }]'
)
FLOW = FLOW.replace('next = "consent"', 'next = "day"', 1).replace(
    "[[nodes]]", '[[nodes]]\ntype = "ask"\nid = "day"\ntext = "When?"\ninput = "date"\nnext = "consent"\n\n[[nodes]]', 1
)
PARTS = {
    "text": "Hi there.",
    "image": {"url": "https://cdn.example.com/a.png?b=c&d=e", "alt": "Our office"},
    "links": [{"label": "Privacy", "url": "https://www.acme.example/privacy"}],
}


async def test_the_widget_gets_an_image_and_links_and_all_else_reads_their_addresses(workspace, anonymous):
    caller = Caller(anonymous, await published(workspace, FLOW))
    opened = (await anonymous.get(f"/widget/v1/bots/{caller.bot.id}")).json()
    assert opened["messages"] == [
        {"content": f"Hi there.\n{test_attachments.END}", "parts": PARTS},
        {"content": "When?"},
    ]
    assert opened["input"] == {"kind": "date", "min": "1900-01-01", "max": "2199-12-31"}
    first = (await caller.says("2027-01-31")).json()
    assert [one.get("parts") for one in first["messages"]] == [
        PARTS, None, None, {"text": "May we write to you?", "links": PARTS["links"]},
    ]  # fmt: skip
    assert first["input"]["links"] == {"Book a call": "https://www.example.com/call"}
    mimicry = f"Hi there.\n{test_attachments.END}"
    again = (await caller.says(mimicry)).json()["messages"]
    assert [(one["role"], "parts" in one) for one in again] == [("user", False), ("bot", False)]
    read = (await caller.get("messages")).json()["messages"]
    assert [one.get("parts") for one in read[:4]] == [one.get("parts") for one in first["messages"]]
    told = (await reads.detail(workspace, caller.conversation)).messages
    assert told[0].content == f"Hi there.\n{test_attachments.END}"
    assert await db.value("SELECT count(*) FROM message WHERE content LIKE '%https://www.acme.example/privacy'") == 3


async def test_a_button_that_continues_the_flow_does_so(workspace, anonymous):
    caller = Caller(anonymous, await published(workspace, FLOW))
    await caller.says("31.1.2027")
    last = (await caller.says("Book a call")).json()
    assert last["status"] == "ended"
    assert last["messages"][-1]["parts"] == {"text": "Bye.", "links": [{"label": "Home", "url": "https://a.example/"}]}
    variables = (await reads.detail(workspace, caller.conversation)).metadata.variables
    assert (b'"day":"2027-01-31"' in bytes(variables), b'"consent":"Book a call"' in bytes(variables)) == (True, True)
