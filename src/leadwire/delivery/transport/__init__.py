"""POSTs to addresses that strangers typed: resolved, vetted (SSRF), pinned, bounded in time and size."""
