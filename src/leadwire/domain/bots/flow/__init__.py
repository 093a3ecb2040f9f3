"""The language of flows: its nodes, what texts and conditions mean, how one is read, checked, and run. Pure."""
