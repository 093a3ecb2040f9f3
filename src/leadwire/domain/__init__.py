"""What Leadwire is about: bots, conversations, leads, endpoints, people. A change and its events commit together."""
