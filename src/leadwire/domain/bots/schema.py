"""Bots as people and visitors meet them."""

from msgspec import Struct, field

from leadwire.domain.bots.flow.engine import Prompt, State
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.bots.look import Look
from leadwire.domain.conversations.plan import Known
from leadwire.domain.conversations.schema import Status, StoredMessage
from leadwire.infrastructure.errors import Conflict, Forbidden, NotFound, WorkspaceSuspended


class BotNotFound(NotFound, detail="There is no such bot."):
    """There is no such bot in the workspace."""


class VersionNotFound(NotFound, detail="There is no such version of the bot."):
    """The bot has never had this version."""


class ChatClosed(WorkspaceSuspended, detail="This chat is closed."):
    """What visitors of a suspended workspace get."""


class GreetingChanged(Conflict, code="greeting_changed", detail="The bot begins with something else by now."):
    """What a visitor has read and answers is no longer what the bot begins with."""


class VisitorBlocked(Forbidden, code="visitor_blocked", detail="You cannot chat here."):
    """A person has blocked the visitor's network."""


class Bot(Struct, frozen=True):
    """A bot, as /v1 shows it."""

    id: str
    """Starts with `bot_`."""
    name: str
    """Its name."""
    published_version: int | None
    """The version of its flow that new conversations follow; `null` before the first is published, and while the bot
    is paused.
    """
    allowed_origins: list[str]
    """Websites that may show it; `*` is any."""
    created_at: str
    """When it was made."""


class BotSummary(Bot, frozen=True):
    """A bot in a list of its workspace's people or of operators."""

    workspace_id: str
    paused_version: int | None
    archived_at: str | None


class BotDetail(BotSummary, frozen=True):
    """A bot as its author sees it; `draft` is the flow's text."""

    draft: str | None
    draft_saved_at: str | None
    color: str
    description: str
    draft_revision: int
    draft_saved_by: str | None


class History(Struct, frozen=True):
    """How many steps back and forth there are from a draft."""

    undo: int
    redo: int


class BotVersion(Struct, frozen=True):
    """When a flow was published, by whom and why, without its text."""

    version: int
    created_at: str
    published_by: str | None
    note: str | None


class LiveBot(Struct, frozen=True):
    """A bot that answers visitors: its published version, that version's flow, its color and its look."""

    workspace: str
    id: str
    version: int
    color: str
    flow: Flow
    look: Look = Look()


class VisitorSession(Struct, frozen=True):
    """A visitor's side of one conversation."""

    workspace: str
    conversation_id: str
    bot_id: str
    flow: Flow
    status: Status
    state: State
    lead_id: str | None
    known: Known
    """The conversation, and the lead."""
    blocked: bool = False
    suspended: bool = False
    """Whether the workspace is."""
    has_email: bool = False
    """Whether the visitor has given an e-mail address."""
    seen: int = 0
    """How far an operator has read."""

    @property
    def place(self) -> tuple[str, str]:
        """The workspace and the conversation, which most functions of `conversations` take first."""
        return self.workspace, self.conversation_id


class Turn(Struct, frozen=True, omit_defaults=True):
    """What a visitor gets for what they said: everything said since, and what is asked now; at the start, also the
    conversation and its token.
    """

    status: Status
    messages: list[StoredMessage]
    prompt: Prompt | None = field(name="input")
    conversation_id: str | None = None
    token: str | None = None
    transcript: bool = False
    """Whether the visitor can have the conversation mailed to them."""
    captured: bool = False
    """Whether the visitor has become a lead."""


class Consent(Struct, frozen=True):
    """What a lead was asked to consent to, and what they answered."""

    id: str
    bot_id: str
    flow_version: int | None
    node: str
    text: str
    answer: str
    given: bool
    user_id: str | None
    """Who recorded it; null where the visitor answered the bot."""
    created_at: str
    latest: bool
    """Whether nothing later was recorded about the same question."""


class FaqEntry(Struct, frozen=True):
    """A question and its answer."""

    id: str
    question: str
    answer: str


class ScoreEntry(Struct, frozen=True):
    """Points that a lead got, why, and in which conversation."""

    conversation_id: str
    label: str
    points: int
    created_at: str
