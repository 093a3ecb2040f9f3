"""The demo: a workspace with sixty days of history, and visitors who keep talking."""
