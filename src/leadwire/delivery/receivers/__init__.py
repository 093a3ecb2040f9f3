"""What a receiver asks for by itself: deliveries to fetch, and what it should have."""
