"""Piccolo's view of Leadwire: every table, and where the migrations are: beside us in a wheel, else top level."""

from piccolo.conf.apps import AppConfig, table_finder

from leadwire.infrastructure.db.migrations import FOLDER

TABLES = table_finder(
    [
        "leadwire.domain.accounts.table",
        "leadwire.domain.mail.table",
        "leadwire.domain.bots.table",
        "leadwire.domain.leads.table",
        "leadwire.domain.privacy.table",
        "leadwire.domain.conversations.table",
        "leadwire.domain.exports.table",
        "leadwire.domain.notices.table",
        "leadwire.domain.bulk_changes.table",
        "leadwire.domain.views.table",
        "leadwire.domain.search.table",
        "leadwire.delivery.endpoints.table",
        "leadwire.delivery.endpoints.discard",
        "leadwire.delivery.epochs",
        "leadwire.delivery.outbox",
        "leadwire.delivery.table",
        "leadwire.delivery.monitoring.table",
        "leadwire.delivery.redrive",
        "leadwire.infrastructure.idempotency_store",
        "leadwire.infrastructure.jobs.table",
    ],
    exclude_imported=True,
)

APP_CONFIG = AppConfig(app_name="leadwire", migrations_folder_path=str(FOLDER), table_classes=TABLES)
