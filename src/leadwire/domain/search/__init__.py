"""Search: words in conversations and notes; names, addresses and custom fields of leads."""
