"""POSTs to addresses that strangers typed: resolved, vetted, pinned, bounded in time and size."""
