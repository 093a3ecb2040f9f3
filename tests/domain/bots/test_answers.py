"""What a bot has been taught: which entry answers a question, and how little work a question may cause."""

import pytest

from leadwire.domain.bots import changes, faq
from leadwire.domain.bots.faq import Question
from leadwire.infrastructure import clock, db, settings
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
    await db.close_pool()
    await db.open_pool(servers.database_url, 2, keep_plans=True)
    yield
    await db.close_pool()
    await db.open_pool(f"{servers.database_url}&search_path=public,test_clock,pg_catalog", 10)


async def test_a_message_of_many_words_is_looked_up_with_few(workspace, bot, api_pool, monkeypatch):
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

    steps = await explained(look_up, monkeypatch)
    assert sum(step["Actual Rows"] * step["Actual Loops"] for step in steps) <= settings.get().max_faq_entries * 80
