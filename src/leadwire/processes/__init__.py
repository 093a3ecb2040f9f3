"""What runs in each process, a file each: the API, the relay, the workers."""
