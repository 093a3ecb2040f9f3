"""Drills for the person on call: real processes run, something breaks, and it is diagnosed and repaired."""
