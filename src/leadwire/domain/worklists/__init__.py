"""Working through leads: saved views, and changes of many at once."""
