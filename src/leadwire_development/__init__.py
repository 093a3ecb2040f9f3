"""What `leadwire up` adds to a machine: servers from wheels, the demo, one process per part. Never in production."""
