"""The command line, `leadwire ...`: a file for each command. Names and options are stable; `--json` prints JSON."""
