"""What speaks to the outside: `/v1`, the receivers' API, the web area, the visitor's widget, the command line. Thin."""
