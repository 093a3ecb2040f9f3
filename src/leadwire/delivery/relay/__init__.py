"""Committed events become deliveries, deliveries that are due go into the streams. Any number of processes."""
