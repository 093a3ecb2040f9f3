"""Who asks for a person, in the ten languages of the widget, and who only seems to."""

import re
import tomllib
from pathlib import Path

import pytest

import leadwire.interfaces.widget
from leadwire.domain.bots.flow import engine, inputs, library
from leadwire.domain.bots.flow.engine import HandedOff, Saved
from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.visitors.opening import WORDS
from leadwire.domain.bots.visitors.preview import run
from tests.domain.bots.flows import SMALL, shipped

WIDGET = (Path(leadwire.interfaces.widget.__file__).parent / "javascript" / "words.js").read_text(encoding="utf-8")
BUTTONS = [*re.findall(r'\bperson: "([^"]+)"', WIDGET), *(said["person"] for said in WORDS.values())]

WISHES = [
    *BUTTONS,
    "Can I speak to a human please?",
    "can i talk to a real person",
    "I want to speak with an agent!",
    "I'd like to talk to someone from your team, please.",
    "I’d rather chat with a human",
    "TALK TO A HUMAN",
    "please connect me to an operator",
    "Could you please transfer me to a representative?",
    "Get me a human",
    "I need a real person",
    "human",
    "Human, please!",
    "agent please",
    "is there a human I can talk to?",
    "Yes, I want to talk to somebody now",
    "talk to sales",
    "Kann ich bitte mit einem Menschen sprechen?",
    "Ich möchte mit einem Mitarbeiter reden",
    "ich will jetzt mit einem echten Menschen chatten",
    "Bitte verbinden Sie mich mit einem Berater",
    "Mitarbeiter bitte",
    "Ich brauche einen Menschen",
    "Je voudrais parler à un conseiller, s'il vous plaît",
    "Puis-je parler à une vraie personne ?",
    "est-ce que je peux parler a quelqu'un",
    "Mettez-moi en relation avec un agent",
    "Un humain svp",
    "J’ai besoin d’un conseiller",
    "¿Puedo hablar con una persona?",
    "Quiero hablar con un agente por favor",
    "quisiera hablar con alguien de su equipo",
    "Páseme con un asesor",
    "Necesito una persona real",
    "أريد التحدث إلى شخص حقيقي",
    "هل يمكنني التحدث مع موظف من فضلك؟",
    "أُرِيدُ أَنْ أَتَحَدَّثَ مَعَ إِنْسَان",
    "حولني إلى خدمة العملاء",
    "موظف من فضلك",
    "Posso falar com um humano, por favor?",
    "Quero falar com um atendente",
    "Preciso de uma pessoa real",
    "Olá, gostaria de falar com alguém da sua equipe",
    "Queria falar com uma pessoa, se faz favor",
    "Atendente, por favor!",
    "Falar com uma pessoa",
    "Vorrei parlare con una persona reale, per favore",
    "Posso parlare con un operatore?",
    "Parla con una persona",
    "C'è un operatore con cui posso parlare?",
    "Kan ik met een mens praten?",
    "Ik wil graag met een medewerker spreken",
    "Met een mens praten",
    "Czy mogę porozmawiać z człowiekiem?",
    "Chciałbym rozmawiać z konsultantem",
    "Porozmawiaj z człowiekiem",
    "担当者と話す",
    "人と話したいです。",
    "すみません、オペレーターにつないでください",
]
NONE = [
    "",
    "?!",
    "I am a human resources manager",
    "Human resources",
    "I want to talk to your human resources software",
    "I don't want to talk to a person",
    "Please do not connect me to an agent",
    "No human, please",
    "Are you a human?",
    "I am human",
    "Agent",
    "Operator",
    "Person",
    "Sales",
    "Customer service",
    "Live chat",
    "I need support",
    "We are 20 people",
    "I need a person to maintain our website",
    "How do I add an agent?",
    "Can agents speak to my customers?",
    "Can your bot talk to a person who speaks German?",
    "I want to talk about prices",
    "Talk to us",
    "How can I contact my leads?",
    "Real estate agent",
    "A person",
    "Ich bin Mitarbeiter in der Personalabteilung",
    "Mitarbeiter",
    "Wir haben 20 Mitarbeiter",
    "Ich möchte nicht mit einem Menschen sprechen",
    "Bist du ein Mensch?",
    "Mit einem Kollegen",
    "Kundenservice",
    "Je suis responsable des ressources humaines",
    "Je ne veux pas parler à une personne",
    "une personne",
    "Il y a une personne",
    "Êtes-vous humain ?",
    "Soy gerente de recursos humanos",
    "No quiero hablar con una persona",
    "una persona",
    "Hay una persona",
    "Hablar de precios",
    "أنا مدير الموارد البشرية",
    "لا أريد التحدث إلى شخص",
    "أنا موظف",
    "شخص",
    "I am a person",
    "I am a real person, not a bot",
    "Is this a person?",
    "I talk to people all day",
    "Ich bin ein Mensch",
    "Je suis une personne",
    "Soy una persona",
    "Sou uma pessoa",
    "uma pessoa",
    "Não quero falar com uma pessoa",
    "Somos 20 pessoas",
    "Trabalho com recursos humanos",
    "Falar de preços",
    "Você é humano?",
    "Sono una persona",
    "Non voglio parlare con una persona",
    "una persona vera?",
    "Siamo venti persone",
    "Ik ben een mens",
    "Ik wil niet met een mens praten",
    "We hebben 20 medewerkers",
    "Jestem człowiekiem",
    "Nie chcę rozmawiać z człowiekiem",
    "Mamy 20 pracowników",
    "私は人間です",
    "人と話したくない",
    "担当者は私です",
    "Can I speak to a human please? " + "We have been waiting for our order for three weeks by now. " * 3,
]
PHRASES = tomllib.loads(Path(__file__).with_name("person_requests.toml").read_text(encoding="utf-8"))


def test_the_button_has_a_text_in_each_language():
    assert len(BUTTONS) <= len(inputs._LANGUAGES) == 10


@pytest.mark.parametrize("text", WISHES)
def test_a_wish_for_a_person_is_understood(text):
    assert inputs.asks_for_person(text)


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_one_is_none(text):
    assert not inputs.asks_for_person(text)


@pytest.mark.parametrize("language", PHRASES)
def test_longer_requests_are_understood_in_each_language(language):
    wishes, others = PHRASES[language]["wishes"], PHRASES[language]["others"]
    assert (len(wishes), len(others)) == (12, 12)
    missed = [text for text in wishes if not inputs.asks_for_person(text)]
    assert len(missed) <= 2, missed
    assert [text for text in others if inputs.asks_for_person(text)] == []


def test_no_text_takes_long():
    for wish in (pattern for request in inputs._REQUESTS for pattern in request):
        assert not re.search(r"[*+]|,\}", wish.pattern)  # nothing is repeated without an end


@pytest.mark.parametrize("name", library.NAMES)
def test_it_is_granted_wherever_the_visitor_may_speak(name):
    flow = shipped(name)
    for node in flow.nodes:
        if node.__struct_config__.tag not in ("ask", "answer"):
            continue
        state = engine.State(at=node.id)
        after, effects = engine.step(flow, state, "Can I speak to a human please?", answer="Yes, you can.")
        assert [type(one) for one in effects] == [engine.Reply, HandedOff]
        assert effects[0].text == flow.handoff_text
        assert after == state  # handed back, the bot asks again


def test_the_button_says_what_the_words_say():
    flow = parse('handoff_text = "One moment, {{email|please}}."\n' + SMALL)
    state = engine.State(at="size", variables={"email": "Ada"})
    asked = engine.ask_for_person(flow, state)
    assert asked == engine.step(flow, state, "May I talk to a person?")
    assert asked[1][0].text == "One moment, Ada."


@pytest.mark.parametrize("words", ["Can I speak to a human please?", "Posso falar com uma pessoa?"])
def test_it_is_understood_as_the_first_message_at_a_choice(words):
    flow = shipped("lead-qualification")
    state, _ = engine.begin(flow)
    assert engine.prompt(flow, state).kind == "choice"
    assert engine.step(flow, state, words)[1][-1] == HandedOff("the visitor asked for a person")


def test_an_answer_that_is_offered_is_that_answer():
    flow = parse(SMALL.replace('{ label = "Small" }', '{ label = "Talk to a person", next = "bye" }'))
    _, effects = engine.step(flow, engine.State(at="size"), "talk to a person")
    assert isinstance(effects[0], Saved)


async def test_it_is_not_looked_up(workspace, bot):
    async def never(question):
        raise AssertionError(question)

    tried = await run(workspace, bot, shipped("support-triage"), ["A question", "I want to talk to a human"], never)
    assert tried.notes[-1] == "Asks for a person: the visitor asked for a person"
