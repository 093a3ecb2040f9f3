"""Customers, as whoever runs the installation sees them: how one is made, suspended, deleted, exported and imported."""
