"""`python -m leadwire`."""

from leadwire.interfaces.cli.main import main

main()
