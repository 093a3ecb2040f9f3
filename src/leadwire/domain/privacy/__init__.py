"""Erasure of a person from everything that is stored about them."""
