"""Conversations between visitors and bots (and, after a handoff, operators), with their messages."""
