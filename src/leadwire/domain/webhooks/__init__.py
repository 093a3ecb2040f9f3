"""The customer's face of the wire: endpoints, what became of their deliveries, and sending again."""
