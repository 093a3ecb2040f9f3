"""What people are told by mail of what happens while nobody looks, and transcripts for visitors."""
