"""Conversations between visitors and bots (and, after a handoff, people), with their messages."""
