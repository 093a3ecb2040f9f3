"""People write in any script: its blanks and joiners are no control characters."""

from urllib.parse import quote

import pytest

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.visitors import traces
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.leads import reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.views import changes as views
from leadwire.domain.webhooks import filters
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure.errors import Invalid
from tests import make
from tests.domain.mail.test_compose import message

WORDS = ["山田\u3000太郎", "می\u200cخواهم", "1\u00a0000 €", "\U0001f469\u200d\U0001f4bb"]


@pytest.mark.parametrize("text", WORDS)
async def test_what_has_a_name_has_it_in_any_script(workspace, bot, text):
    user = await make.user(workspace)
    await bots.describe(workspace, bot, "Bot", f"{text}\n{text}")
    await views.choose_columns(workspace, user, [text])
    await views.save(workspace, user, text, "", [text])
    await workspaces.create(text)
    talk = await make.conversation(workspace, bot)
    await inbox.add_reply(workspace, text, text)
    await inbox.tag(workspace, talk, text)
    assert filters.path_of(Filter(conditions=[f"company eq {text}"]))
    assert traces.page(f"https://shop.example/?utm_campaign={quote(text)}")[1] == text
    assert text in message(workspace=text)["Subject"]


@pytest.mark.parametrize("text", ["İstanbul", "ΟΔΟΣ"])
async def test_a_list_finds_a_word_as_it_is_written(workspace, bot, text):
    """Python and PostgreSQL have other small letters for some capitals."""
    lead = await make.lead(workspace, bot, company=f"{text} 1")
    assert [found.id for found in (await reads.search(workspace, LeadSearch(q=text))).items] == [lead.id]


@pytest.mark.parametrize("text", ["a\0b", "a\u2028b", "a\u202eb", "a\x7fb"])
async def test_what_turns_or_ends_a_line_is_still_refused(workspace, bot, text):
    user = await make.user(workspace)
    for refused in (
        bots.describe(workspace, bot, "Bot", text),
        views.choose_columns(workspace, user, [text]),
        views.save(workspace, user, text, "", []),
        workspaces.create(text),
        inbox.add_reply(workspace, text, "Hello"),
    ):
        with pytest.raises(Invalid):
            await refused


@pytest.mark.parametrize("text", ["a\0b", "a\u202eb", "a\x7fb"])
async def test_so_it_is_in_a_tag_where_a_new_line_is_a_blank(workspace, bot, text):
    talk = await make.conversation(workspace, bot)
    with pytest.raises(Invalid):
        await inbox.tag(workspace, talk, text)


@pytest.mark.parametrize("text", WORDS)
async def test_it_is_looked_for_in_any_script(client, workspace, bot, text):
    await make.lead(workspace, bot, name=f"Ada {text}")
    answer = await client.get("/v1/leads", params={"q": f"{text} 1"})
    assert answer.status_code == 200, answer.text
