"""Exports by the API. A job says what is asked for; its rows are read while they are downloaded, and kept nowhere."""
