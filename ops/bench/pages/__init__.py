"""The cost of each page of the web area, on a workspace with history."""
