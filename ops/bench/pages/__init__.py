"""What a page of the web area costs on a workspace with a past."""
