"""Changes of many leads at once, made by a job."""
