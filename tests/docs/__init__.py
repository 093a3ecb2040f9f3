"""The documents, held to what there is."""
