"""Sending many things again, as a job that survives restarts: dead letters, or all events of a time to one endpoint."""
