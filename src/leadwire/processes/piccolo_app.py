"""Piccolo's view of Leadwire: every table, and where the migrations are: beside us in a wheel, else top level."""

from piccolo.conf.apps import AppConfig

from leadwire.delivery.endpoints.discard import Discard
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.delivery.epochs import Epoch
from leadwire.delivery.outbox import Outbox, RecordedEvent
from leadwire.delivery.redrive import RedriveJob
from leadwire.delivery.table import Attempt, Delivery, DeliveryResult, EndpointHour, EndpointSequence, EveryDelivery
from leadwire.domain.accounts.table import ApiKey, AuditEntry, Invitation, UserAccount, UserSession, Workspace
from leadwire.domain.bots.table import BlockedVisitor, Bot, BotVersion, FaqEntry, ScoreEntry, Visit
from leadwire.domain.conversations.table import Conversation, ConversationNote, Message, SavedReply
from leadwire.domain.leads.table import Lead
from leadwire.infrastructure.db.migrations import FOLDER
from leadwire.infrastructure.idempotency_store import IdempotentResponse

TABLES = [
    Workspace,
    UserAccount,
    UserSession,
    Invitation,
    AuditEntry,
    ApiKey,
    Bot,
    BotVersion,
    FaqEntry,
    Lead,
    Conversation,
    Message,
    ConversationNote,
    SavedReply,
    Visit,
    ScoreEntry,
    BlockedVisitor,
    WebhookEndpoint,
    Epoch,
    RecordedEvent,
    Outbox,
    Delivery,
    DeliveryResult,
    EveryDelivery,
    Discard,
    Attempt,
    EndpointHour,
    EndpointSequence,
    RedriveJob,
    IdempotentResponse,
]

APP_CONFIG = AppConfig(
    app_name="leadwire",
    migrations_folder_path=str(FOLDER),
    table_classes=list(TABLES),
)
