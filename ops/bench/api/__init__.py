"""Leadwire's API beside the same endpoints in FastAPI + SQLAlchemy: requests per CPU-second of the server."""
