"""What the HTTP interfaces share. Knows nothing of leads or conversations."""
