"""The edge kit: what every HTTP door shares. Knows nothing of leads or conversations."""
