"""The operator's door: `leadwire ...`. Names and flags are a contract; `--json` prints one JSON document."""
