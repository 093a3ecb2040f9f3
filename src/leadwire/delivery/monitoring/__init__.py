"""How delivery is doing: a status for people, gauges for alerts, invariants, and the observer that looks them up."""
