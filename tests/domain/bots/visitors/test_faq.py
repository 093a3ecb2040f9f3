"""What a bot has been taught: which entry answers a question, and how little work a question may cause."""

import json

import httpx
import msgspec
import pytest

from leadwire.domain.bots import changes
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.visitors import faq
from leadwire.domain.bots.visitors.faq import Question
from leadwire.infrastructure import clock, db, settings
from tests.delivery.elsewhere import moved_to
from tests.domain.bots.conftest import Visitor, published
from tests.plans.explained import explained

WORDS = [f"{a}{b}{c}{d}" for a in "bdfgk" for b in "aou" for c in "lmnprt" for d in "zvx"]  # no stop words, no endings
TAUGHT = {
    "How do I verify a webhook signature?": "Use HMAC-SHA256.",
    "Where are my invoices?": "Under Billing.",
    "How much does the Team plan cost?": "40 euros a month.",
    "Can I pay by bank transfer?": "Yes, from the Team plan on. The invoice says how.",
    "Do you offer a free trial?": "14 days, without a credit card.",
    "Which languages does the widget speak?": "English, German, French, Spanish and Arabic.",
}


@pytest.fixture
async def taught(workspace, bot):
    for question, answer in TAUGHT.items():
        await changes.add_faq_entry(workspace, bot, question, answer)
    return bot


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("verifying signatures of webhooks?", "How do I verify a webhook signature?"),
        ("can I see an invoice", "Where are my invoices?"),
        ("WHAT DOES THE TEAM PLAN COST", "How much does the Team plan cost?"),
        ("paying by transfer", "Can I pay by bank transfer?"),
        ("is there a trial?", "Do you offer a free trial?"),
        ("does the widget speak Arabic", "Which languages does the widget speak?"),
        ("What do you do against greenfly on roses?", None),
        ("how do I", None),
        ("", None),
        (r"invoices at '\a\'", "Where are my invoices?"),
        ("invoices! & | :* <-> (" + " ".join(WORDS), None),  # all the rest is not known
        ("invoices invoices invoices " * 100, "Where are my invoices?"),
    ],
)
async def test_the_entry_that_fits_best_answers(workspace, taught, asked, question):
    assert await faq.answer(Question(workspace, taught, asked, 0)) == TAUGHT.get(question)


async def test_another_workspace_or_bot_knows_nothing_of_it(workspace, taught):
    other = await changes.create(workspace, "Other")
    assert await faq.answer(Question(workspace, other, "invoices", 0)) is None
    assert await faq.answer(Question("ws_other", taught, "invoices", 0)) is None


@pytest.fixture
async def api_pool(workspace, bot, servers):
    """The connections that the API has, which keep one plan for each statement."""
    async with moved_to(servers.database_url, "engine", restarted=False):
        yield


async def test_a_message_of_many_words_is_looked_up_with_few(workspace, bot, api_pool):
    """1,000 entries that each hold every word of a message of 2.8 kB: what PostgreSQL handles is counted in rows."""
    message = " ".join(f"{word}{letter}" for letter in "xz" for word in WORDS)[:2800]
    await db.rows(
        """INSERT INTO faq_entry (id, workspace_id, bot_id, question, answer, created_at, search)
           SELECT 'faq_' || n, $1, $2, 'Question ' || n, $3, $4, to_tsvector('english', $3)
           FROM generate_series(1, $5) n""",
        workspace, bot, message, clock.now(), settings.get().max_faq_entries,
    )  # fmt: skip

    async def look_up():
        assert await faq.answer(Question(workspace, bot, message, 0)) == message

    steps = await explained(look_up)
    assert sum(step["Actual Rows"] * step["Actual Loops"] for step in steps) <= settings.get().max_faq_entries * 80


@pytest.fixture
def model(monkeypatch):
    """Answerers with a model that replies with `replies`, and what it was sent."""
    sent = []

    def made(*replies, turns=20):
        left = list(replies)

        def respond(request):
            sent.append(request)
            return httpx.Response(left[0][0], text=json.dumps(left.pop(0)[1]))

        monkeypatch.setattr(faq, "GuardedTransport", lambda *_, **__: httpx.MockTransport(respond))
        faq.answerer.cache_clear()
        configured = {"model_url": "https://model.example/v1/", "model_key": "secret", "model_turns": turns}
        return faq.answerer(msgspec.structs.replace(settings.get(), **configured)), sent

    return made


def choice(text):
    return 200, {"choices": [{"message": {"content": text}}]}


async def test_a_model_answers_from_the_entries_that_fit(workspace, taught, model):
    answer, sent = model(choice(" By HMAC. "), choice("UNKNOWN"), choice(None), (200, {"choices": []}))
    asked = Question(workspace, taught, "how do I verify a webhook signature", 0)
    assert [await answer(asked) for _ in range(4)] == ["By HMAC.", None, None, None]
    assert str(sent[0].url) == "https://model.example/v1/chat/completions"
    assert sent[0].headers["authorization"] == "Bearer secret"
    rules, question = msgspec.json.decode(sent[0].content)["messages"]
    assert TAUGHT["How do I verify a webhook signature?"] in rules["content"]
    assert TAUGHT["Where are my invoices?"] not in rules["content"]
    assert question == {"role": "user", "content": asked.text}


async def test_what_no_message_can_hold_is_left_out_of_a_models_answer(workspace, model):
    bot = await published(workspace, library.text("support-triage"))
    await changes.add_faq_entry(workspace, bot.id, "Where are my invoices?", "Under Billing.")
    answer, _ = model(choice("Under\0 Billing. \ud83d"), choice("\ud83d"))
    visitor = Visitor(bot, answer)
    await visitor.says("A question")
    assert (await visitor.says("my invoices?"))[0] == "Under Billing."
    assert (await visitor.says("my invoices?"))[0].startswith("I do not know")


async def test_a_model_is_not_asked_without_facts_nor_beyond_its_budget(workspace, taught, model):
    answer, sent = model(choice("Because."), turns=2)
    assert await answer(Question(workspace, taught, "greenfly on roses", 0)) is None
    assert await answer(Question(workspace, taught, "my invoices", 2)) is None
    assert sent == []
    assert await answer(Question(workspace, taught, "my invoices", 1)) == "Because."


async def test_a_model_that_fails_is_one_that_does_not_know(workspace, model):
    bot = await published(workspace, library.text("support-triage"))
    await changes.add_faq_entry(workspace, bot.id, "Where are my invoices?", "Under Billing.")
    answer, sent = model((500, {}))
    visitor = Visitor(bot, answer)
    await visitor.says("A question")
    assert (await visitor.says("my invoices?"))[0].startswith("I do not know")
    assert len(sent) == 1
