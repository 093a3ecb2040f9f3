"""What happened, read back in the order of commits, and waiting for what comes next."""
