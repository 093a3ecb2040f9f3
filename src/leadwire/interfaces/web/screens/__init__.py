"""One file per subject: what is shown and what can be done there. Each reads and changes through its feature."""
