"""Leads: people who gave a bot an e-mail address or a phone number."""
