"""The language of flows: its nodes, what texts and conditions mean, and how one is read and checked. Pure."""
