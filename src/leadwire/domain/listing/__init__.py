"""How lists are filtered, paged and counted, and how rows and tables leave in files."""
