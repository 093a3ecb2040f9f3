"""The receivers of the documentation, as programs."""
