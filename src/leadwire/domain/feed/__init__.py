"""Events read by integrators: the feed of a workspace, with waiting for the next one, and single events."""
