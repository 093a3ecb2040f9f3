"""Piccolo's view of Leadwire: every table, and where the migrations are: beside us in a wheel, else top level."""

from piccolo.conf.apps import AppConfig

from leadwire.accounts.table import ApiKey, AuditEntry, Invitation, UserAccount, UserSession, Workspace
from leadwire.bots.table import BlockedVisitor, Bot, BotVersion, FaqEntry, ScoreEntry, Visit
from leadwire.conversations.table import Conversation, ConversationNote, Message, SavedReply
from leadwire.db.migrations import FOLDER
from leadwire.leads.table import Lead
from leadwire.web.idempotent_answers import IdempotentAnswer
from leadwire.wire.ledger import Attempt, Delivery, EndpointHour, WebhookEndpoint
from leadwire.wire.outbox import OutboxEvent
from leadwire.wire.redrive.table import RedriveJob

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
    OutboxEvent,
    Delivery,
    Attempt,
    EndpointHour,
    RedriveJob,
    IdempotentAnswer,
]

APP_CONFIG = AppConfig(
    app_name="leadwire",
    migrations_folder_path=str(FOLDER),
    table_classes=list(TABLES),
)
