"""Pictures of every screen, light and dark, on a desk and on a phone."""
