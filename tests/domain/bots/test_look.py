"""What a look may be, and which language the widget speaks."""

import re
from functools import partial
from pathlib import Path

import msgspec
import pytest

import leadwire.interfaces.widget
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.look import LANGUAGES, Look, stored
from leadwire.domain.bots.visitors import opening
from leadwire.infrastructure import preconditions
from leadwire.infrastructure.errors import Conflict
from tests.delivery.interleaved import overlapped
from tests.domain.bots.flows import shipped, small

SCRIPTS = Path(leadwire.interfaces.widget.__file__).with_name("javascript")


def test_what_is_as_in_a_new_bot_is_not_stored():
    assert msgspec.json.encode(Look()) == b"{}"
    assert stored("{}") == Look()
    assert msgspec.json.encode(Look(side="left")) == b'{"side":"left"}'


@pytest.mark.parametrize(
    "wrong",
    [{"x": -1}, {"y": 201}, {"theme": "blue"}, {"avatar": "http://a.example/i.png"}, {"avatar": "javascript:alert(1)"},
     {"avatar": "https://a.example/' onload='x"}, {"avatar": "ABCDE"}, {"launcher": "x" * 31}, {"title": "a\nb"},
     {"hide_pages": ["pricing"]}, {"hide_pages": ["/a b"]}, {"hide_pages": ["/" + "x" * 200]}, {"language": "xx"},
     {"hide_pages": ["/a"] * 21}, {"greeting_after": 3601}, {"color": "#ffffff"}, {"greeting": "a\u202eb"}],
)  # fmt: skip
def test_what_is_no_look_is_refused(wrong):
    text = msgspec.json.encode(wrong)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Look)
    assert stored(text.decode()) == Look()  # as a later version may have written it: no visitor sees an error


@pytest.mark.parametrize("avatar", ["", "LW", "🌱", "https://a.example/i.png?x=1"])
def test_an_avatar_is_an_image_or_some_letters(avatar):
    assert stored(msgspec.json.encode({"avatar": avatar}).decode()).avatar == avatar


@pytest.mark.parametrize(
    ("chosen", "accepted", "spoken"),
    [("flow", "de", "en"), ("browser", "de-CH,de;q=0.9,en;q=0.8", "de"), ("browser", "sw, xx;q=1, JA-jp", "ja"),
     ("browser", "", "en"), ("browser", "," * 5000, "en"), ("ar", "de", "ar")],
)  # fmt: skip
def test_the_language_is_the_flows_the_browsers_or_always_one(chosen, accepted, spoken):
    flow = shipped("lead-qualification")
    config = opening.opening("bot_1", flow, "#000000", Look(language=chosen), accepted)
    assert (config.language or config.locale) == spoken
    assert config.words == opening.WORDS.get(spoken)
    assert config.locale == "en"


def test_texts_of_its_own_come_before_those_of_the_flow():
    unnamed = small()
    headings = {one: opening.opening("bot_1", unnamed, "#000000", Look(language=one)).title for one in LANGUAGES}
    others = {name: told for name, told in headings.items() if told != "Chat"}
    assert others == {"ar": "دردشة", "ja": "チャット", "pl": "Czat"}
    config = opening.opening("bot_1", shipped("lead-qualification"), "#000000", Look(title="Hi", placeholder="Ask us"))
    assert (config.title, config.words) == ("Hi", {"field": "Ask us"})


def test_every_language_says_everything():
    english = re.findall(r"\b(\w+): \"", (SCRIPTS / "words.js").read_text())
    assert len(english) > 25
    assert set(opening.WORDS) == set(LANGUAGES) - {"en"}
    for language, said in opening.WORDS.items():
        assert sorted(said) == sorted(english), language
        assert all(text.strip() for text in said.values())


def test_the_widget_knows_the_same_defaults():
    plain = re.search(r"const PLAIN = {(.+)};", (SCRIPTS / "look.js").read_text())[1]
    for name, text in re.findall(r"(\w+): ([^,]+)", plain):
        assert msgspec.json.decode(text.strip()) == getattr(Look(), name)


async def test_the_second_to_save_at_the_same_moment_is_told_of_the_first(workspace, bot):
    saw = preconditions.digest([await reads.look(workspace, bot), (await reads.detail(workspace, bot)).color])
    color = (await reads.detail(workspace, bot)).color
    save = [partial(changes.set_look, workspace, bot, Look(title=title), color, saw=saw) for title in ("1", "2")]
    with pytest.raises(Conflict, match="Somebody else has changed this"):
        await overlapped(*save)
    assert (await reads.look(workspace, bot)).title == "1"
