"""The receivers of the README, as programs."""
