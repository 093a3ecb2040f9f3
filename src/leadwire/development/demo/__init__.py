"""The demo: a workspace with sixty days of history, and visitors who keep talking. All of it through the same
operations that real bots use.
"""
