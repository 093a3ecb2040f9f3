"""Leadwire: chatbot leads and conversations, and signed webhooks that are never lost."""

__version__ = "0.1.0"
