"""`python -m leadwire_development`: `leadwire`, whose `serve` has the pages of development. `up` runs it."""

from leadwire.__main__ import COMMANDS, main

if __name__ == "__main__":
    COMMANDS["serve"] = "leadwire_development.serving"
    main()
