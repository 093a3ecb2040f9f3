"""What receivers of webhooks use: an API of their own under /receiver/v1, and what they may know of deliveries."""
