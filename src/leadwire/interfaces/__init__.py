"""What speaks to the outside: the `/v1` API, the web area, the visitor's widget, the command line. Thin."""
