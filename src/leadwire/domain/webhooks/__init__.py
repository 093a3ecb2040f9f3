"""What customers see and set of webhooks: endpoints, what became of their deliveries, and sending again."""
