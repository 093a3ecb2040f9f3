"""`leadwire` with every logger at DEBUG, for what must never be in a log however much is logged."""

import logging
import sys

from leadwire.__main__ import main
from leadwire.infrastructure import telemetry

_configure = telemetry.configure


def configure(form: str, _level: str = "") -> None:
    _configure(form, "debug")
    logging.getLogger().setLevel(logging.DEBUG)
    for name in logging.root.manager.loggerDict:
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.getLogger("leadwire").debug("loud")


if __name__ == "__main__":
    telemetry.configure = configure
    main(*sys.argv[1:])
