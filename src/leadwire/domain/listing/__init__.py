"""How lists are filtered, paged and counted."""
