"""What Leadwire is about: bots, conversations, leads, webhook endpoints, people. Each change is one transaction with its events."""
