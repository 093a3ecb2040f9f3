"""Saved views of the list of leads, and the columns that each person sees."""
