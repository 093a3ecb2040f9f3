"""For Piccolo's own command line (`piccolo migrations forwards all`): the database that Leadwire would use here.

That is LEADWIRE_DATABASE_URL, or in development the embedded server of the data directory: attached to when it runs,
started for the length of the command when it does not. Inside Leadwire the pool is open already and nothing is started.
"""

import atexit
from contextlib import ExitStack

from piccolo.conf.apps import AppRegistry

from leadwire.infrastructure import db
from leadwire.infrastructure.db import DB

if DB.pool is None:
    from leadwire.interfaces.cli.runtime import servers

    _running = ExitStack()
    db.configure(_running.enter_context(servers(new=True)).database_url)
    atexit.register(_running.close)

APP_REGISTRY = AppRegistry(apps=["leadwire.processes.piccolo_app"])
