"""Piccolo's view of Leadwire: every table, and where the migrations are: beside us in a wheel, else top level."""

from piccolo.conf.apps import AppConfig

from leadwire.infrastructure.db.declared import every
from leadwire.infrastructure.db.migrations import FOLDER

TABLES = list(every())

APP_CONFIG = AppConfig(app_name="leadwire", migrations_folder_path=str(FOLDER), table_classes=TABLES)
