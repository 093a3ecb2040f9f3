"""Leads: people who told a bot how to reach them."""
