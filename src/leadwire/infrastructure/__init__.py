"""What everything stands on: the database, Redis, settings, ids, the clock, errors, telemetry."""
