"""Whether a visitor asks for a person, in English, German, French, Spanish or Arabic. Pure.

Only a text that is such a request from its first to its last word counts: "I am a human resources manager" is none.
"""

import re
import unicodedata
from typing import Final, NamedTuple

_LONGEST: Final = 120  # characters; who writes more wants more than that


class _Phrases(NamedTuple):
    """Phrases of one language, parted by `|`, as people write them: case, accents and punctuation do not count.

    A request is `[can] talk who [verb] [end]`, `need who [end]` or one of `alone`, with `polite` words around it.
    Where the verb comes last, as in German, a `talk` needs one.
    """

    polite: str
    can: str
    talk: str
    need: str
    who: str
    end: str
    alone: str
    verb: str = ""


_LANGUAGES: Final = (
    _Phrases(
        polite="hi|hello|hey|please|pls|ok|okay|yes|but|sorry|thanks|thank you|now|right now|here|instead|just",
        can="can i|could i|may i|can we|could we|i want to|i would like to|i'd like to|i need to|i prefer to|"
        "i'd prefer to|i'd rather|i wanna|we would like to|we want to|let me|is it possible to|how can i|how do i|"
        "can you|could you",
        talk="talk to|talk with|speak to|speak with|chat with|chat to|connect me to|connect me with|transfer me to|"
        "put me through to|hand me over to|get me|contact|reach",
        need="i want|i need|i would like|i'd like|i'd prefer|i prefer|give me|get me|is there|can i have|could i have",
        who="a human|a human being|a human agent|a real human|a real human being|a live human|a person|a real person|"
        "an actual person|an actual human|a live person|a human person|a real agent|a live agent|an agent|an operator|"
        "a representative|a rep|an employee|a colleague|a member of your team|a team member|someone|somebody|anyone|"
        "anybody|someone real|someone human|someone from your team|somebody from your team|someone from the team|"
        "your team|the team|your staff|real person|real human|live agent|human agent|human|customer support|"
        "customer service|the support team|the sales team|your sales team",
        end="i can talk to|i can speak to|i could talk to|i could speak to|i can chat with|to talk to|to help me",
        alone="human|a human|real human|real person|a real person|human being|human agent|live agent|live person|"
        "agent please|a person please|operator please|representative please|talk to human|speak to human|"
        "talk to person|talk to agent|speak to agent|talk to sales|talk to support|contact sales|contact support",
    ),
    _Phrases(
        polite="hallo|hi|guten tag|bitte|danke|ok|ja|aber|jetzt|sofort|hier|direkt|lieber|gern|gerne|mal",
        can="kann ich|könnte ich|darf ich|kann man|können wir|ich möchte|ich will|ich würde|ich muss|ich wünsche|"
        "wir möchten|wir wollen|können sie mich|könnten sie mich|kannst du mich|lassen sie mich|ist es möglich",
        talk="mit",
        need="ich brauche|ich möchte|ich will|ich hätte|ich bevorzuge|gibt es|geben sie mir|holen sie mir|"
        "verbinden sie mich mit|verbinden sie mich bitte mit|verbinde mich mit|verbinde mich bitte mit",
        who="einem menschen|einem echten menschen|einem richtigen menschen|einer person|einer echten person|"
        "einer richtigen person|einem mitarbeiter|einer mitarbeiterin|einem berater|einer beraterin|einem kollegen|"
        "einer kollegin|einem ansprechpartner|einem operator|jemandem|jemand|jemandem aus ihrem team|ihrem team|"
        "dem team|dem support|dem kundenservice|dem kundendienst|dem vertrieb|einen menschen|einen echten menschen|"
        "einen mitarbeiter|eine mitarbeiterin|einen berater|einen ansprechpartner|eine echte person",
        verb="sprechen|reden|chatten|schreiben|verbinden|verbunden werden|zu sprechen|zu reden",
        end="mit dem ich sprechen kann|mit dem ich reden kann",
        alone="mensch bitte|menschen bitte|einen menschen bitte|echter mensch|echte person|richtiger mensch|"
        "mitarbeiter bitte|einen mitarbeiter bitte|berater bitte",
    ),
    _Phrases(
        polite="bonjour|salut|s'il vous plaît|s'il te plaît|svp|stp|merci|ok|oui|mais|maintenant|ici|plutôt",
        can="je veux|je voudrais|je souhaite|je souhaiterais|j'aimerais|je préfère|je préférerais|je dois|je peux|"
        "puis-je|pourrais-je|est-ce que je peux|est-ce que je pourrais|est-il possible de|c'est possible de|"
        "comment puis-je|on peut|pouvez-vous me|pourriez-vous me|nous voulons|nous voudrions|nous souhaitons",
        talk="parler à|parler avec|parler|discuter avec|échanger avec|joindre|contacter|mettre en relation avec|"
        "mettez-moi en relation avec|passez-moi|passer|être mis en relation avec|être mise en relation avec",
        need="j'ai besoin de|j'ai besoin d'|je veux|je voudrais|je préfère|il me faut|donnez-moi|y a-t-il",
        who="une personne|une vraie personne|une personne réelle|un humain|un être humain|un vrai humain|"
        "un conseiller|une conseillère|un agent|un employé|un collègue|un opérateur|un représentant|un interlocuteur|"
        "quelqu'un|quelqu'un de réel|quelqu'un de votre équipe|votre équipe|l'équipe|le support|le service client|"
        "au service client|au support",
        end="à qui parler|avec qui parler|à qui je peux parler|pour m'aider",
        alone="humain|un humain|un être humain|une vraie personne|un conseiller s'il vous plaît|un conseiller svp|"
        "conseiller svp|agent svp",
    ),
    _Phrases(
        polite="hola|buenos días|buenas|buenas tardes|por favor|gracias|ok|sí|pero|ahora|aquí|mejor|directamente",
        can="quiero|quisiera|querría|puedo|podría|me gustaría|necesito|prefiero|deseo|es posible|se puede|"
        "cómo puedo|déjeme|queremos|podemos|me puede|me podría|puede|podría usted",
        talk="hablar con|hablarle a|chatear con|conversar con|comunicarme con|contactar con|contactar a|"
        "páseme con|pásame con|pasarme con|comuníqueme con|conécteme con|conectarme con|comunicar con|pasar con",
        need="quiero|quisiera|necesito|prefiero|deme|dame|me gustaría tener",
        who="una persona|una persona real|una persona de verdad|un humano|un humano real|un ser humano|un agente|"
        "un agente humano|un asesor|una asesora|un empleado|un operador|un representante|un compañero|alguien|"
        "alguien real|alguien de su equipo|alguien del equipo|su equipo|el equipo|soporte|atención al cliente|ventas",
        end="con quien hablar|con quien pueda hablar|con la que hablar|con el que hablar|que me ayude",
        alone="humano|un humano|persona real|una persona real|agente humano|un agente por favor|agente por favor|"
        "un asesor por favor",
    ),
    _Phrases(
        polite="مرحبا|السلام عليكم|اهلا|من فضلك|من فضلكم|لو سمحت|لو سمحتم|رجاء|الرجاء|شكرا|نعم|لكن|الان|هنا",
        can="اريد|أريد أن|ارغب في|ارغب ب|اود|أود أن|احتاج|احتاج الى|احتاج أن|هل يمكنني|هل يمكن|هل استطيع|يمكنني|"
        "ممكن|هل ممكن|اقدر|عايز|عاوز|ابغى|بدي|أفضل|كيف يمكنني|هل من الممكن|هل بإمكاني",
        talk="التحدث الى|التحدث مع|التكلم مع|التكلم الى|الكلام مع|الحديث مع|الحديث الى|التواصل مع|الدردشة مع|"
        "أتحدث مع|أتحدث الى|اتكلم مع|أتواصل مع|حولني الى|حولوني الى|تحويلي الى|وصلني ب|اكلم|محادثة",
        need="اريد|احتاج|احتاج الى|ابغى|بدي|عايز|أفضل|هل يوجد|هل هناك|هل يوجد هنا",
        who="شخص|شخص حقيقي|شخص ما|الشخص المسؤول|انسان|انسان حقيقي|موظف|موظف حقيقي|الموظف|موظف خدمة العملاء|"
        "ممثل|ممثل خدمة العملاء|خدمة العملاء|وكيل|احد|احدهم|احد الزملاء|احد الموظفين|احد من فريقكم|فريقكم|"
        "الفريق|فريق الدعم|الدعم|المبيعات|بشر|زميل",
        end="يمكنني التحدث معه|اتحدث معه|للتحدث معه|اتكلم معه",
        alone="شخص حقيقي|انسان حقيقي|موظف من فضلك|انسان من فضلك|شخص من فضلك|موظف لو سمحت",
    ),
)


def asks_for_person(text: str) -> bool:
    """Whether the visitor wants to talk to a person."""
    return len(text) <= _LONGEST and any(pattern.fullmatch(_plain(text)) for pattern in _PATTERNS)


def _plain(text: str) -> str:
    """Lower-case words with a blank between, without accents, vowel signs and punctuation."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    return " ".join(re.findall(r"[^\W_]+", bare.replace("\u0640", "")))  # the Arabic letter stretcher


def _pattern(phrases: _Phrases) -> re.Pattern[str]:
    polite, can, talk, need, who, end, alone, verb = (
        "(?:" + "|".join(map(_plain, phrase.split("|"))) + ")" for phrase in phrases
    )
    # Every repetition has an end and every word stands between blanks, so that no text takes long.
    last = f" (?:{polite} )?{verb}" if phrases.verb else ""
    talks = f"(?:{can} (?:{polite} )?)?{talk} (?:{polite} )?{who}{last}"
    asks = f"(?:{talks}|{need} (?:{polite} )?{who})(?: (?:{polite} )?{end})?"
    return re.compile(f"(?:{polite} ){{0,3}}(?:{asks}|{alone})(?: {polite}){{0,3}}")


_PATTERNS: Final = tuple(map(_pattern, _LANGUAGES))
