"""What is typed into the search box, read; and where it is in a text."""

from datetime import UTC, datetime

import pytest

from leadwire.domain.search import documents
from leadwire.domain.search.query import MOST, Piece, parse

BOTS = {"bot_1": "Sales bot", "bot_2": "Support"}


def test_words_phrases_and_filters_are_told_apart():
    asked = parse('invoice "paid twice" bot:"sales bot" status:ended tag:VIP after:2026-11-01 before:2026-11-22', BOTS)
    assert asked.terms == [("invoice", False), ("paid twice", True)]
    assert asked.marks == ["bot:bot_1", "status:ended", "tag:vip"]
    assert (asked.since, asked.until) == (datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC))
    assert asked.only == ("conversation",)
    assert asked.faults == []


def test_words_become_lexemes_of_a_kind():
    asked = parse('"paid twice" ada acme', {})
    assert (
        asked.lexemes("ws_1", "conversation")
        == "'conversation ws_1' & (('paid' <-> 'twice')) & (('ada')) & (('acme':*))"
    )
    assert asked.lexemes("ws_1", "lead") == (
        "'lead ws_1' & (('paid' <-> 'twice')) & (('ada') | ('=ada')) & (('acme') | ('=acm' & '=cme'))"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("colour:red", "colour: is not a filter. There are bot:, status:, tag:, after:, before:."),
        ("tag:", "tag: needs a tag of conversations."),
        ('tag:""', "tag: needs a tag of conversations."),
        ("status:asleep", "status: needs active, handoff or ended."),
        ("before:yesterday", "before: needs a day, such as 2026-11-22."),
        ("after:2026-02-30", "after: needs a day, such as 2026-11-22."),
        ("after:9999-12-31", "after: needs a day, such as 2026-11-22."),
        ("bot:nobody", "No bot is called nobody."),
        ("a " * 100, f"Only the first {MOST} words are searched for."),
    ],
)
def test_what_cannot_be_understood_is_named(text, fault):
    assert parse(text, BOTS).faults == [fault]


def test_addresses_and_times_are_words():
    asked = parse("https://example.com/a 10:30 'or 1=1'", BOTS)
    assert (asked.faults, len(asked.terms)) == ([], 4)


@pytest.mark.parametrize("text", ["", "   ", '"', "!!! ?", "-"])
def test_nothing_is_asked_for_without_words(text):
    assert not parse(text, BOTS)


def test_hits_are_marked_in_any_case():
    asked = parse('broken "second line"', {})
    assert asked.shown("My BROKEN lamp") == [Piece("My ", False), Piece("BROKEN", True), Piece(" lamp", False)]
    long = "x " * 400 + "broken" + " y" * 400
    pieces = asked.shown(long)
    assert pieces[0] == Piece("…", False)
    assert Piece("broken", True) in pieces
    assert sum(len(piece.text) for piece in pieces) < 200
    assert parse("status:ended", {}).shown("Hello") == [Piece("Hello", False)]


def test_styled_letters_are_plain_ones():
    assert documents.words("𝐀𝐝𝐚 ＡＤＡ ℋ𝔸") == ["ada", "ada", "ha"]


def test_words_have_no_case_and_no_accents_and_are_found_in_scripts_without_spaces():
    assert documents.words("“Müller’s” CAFÉ, 東京タワー follow-up") == [
        "muller", "s", "cafe", "東", "京", "タ", "ワ", "ー", "follow", "up",
    ]  # fmt: skip


def test_a_document_is_within_what_a_tsvector_holds():
    words = " ".join(chr(0x20000 + n) * 3 + str(n) for n in range(40_000))
    assert len(documents.vector(words, ()).encode()) < 1_000_000
    assert documents.vector("a 'quoted' \\ word " + "z" * 5000, ["it's \\"]).endswith("'it''s \\\\'")
