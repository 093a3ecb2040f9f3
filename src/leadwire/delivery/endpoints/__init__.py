"""Where deliveries go: the rows of webhook endpoints, and every statement that a person's change of one takes."""
