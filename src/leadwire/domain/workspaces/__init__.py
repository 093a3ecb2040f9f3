"""Customers, as whoever runs the installation sees them: made, suspended, deleted, exported, imported, moved."""
