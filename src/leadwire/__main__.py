"""`python -m leadwire`."""

from leadwire.cli.main import main

main()
