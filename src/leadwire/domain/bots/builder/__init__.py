"""Editing a draft: its steps and their fields as plain data, and its text. Pure."""
