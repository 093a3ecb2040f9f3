"""What the person on call meets at night, rehearsed: real processes, something breaks, it is found, it is mended."""
