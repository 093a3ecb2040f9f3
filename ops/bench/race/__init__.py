"""Webhook services under the same load: from a request to the arrival of its webhook."""
