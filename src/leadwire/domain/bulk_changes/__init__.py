"""Changes of many leads at once, made by the relay."""
