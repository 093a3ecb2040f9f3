"""What people do in a browser."""
