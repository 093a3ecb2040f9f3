"""Visitors by the hundred, through the widget's channel."""
