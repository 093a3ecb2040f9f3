"""How delivery is doing: a status for people, gauges for alerts, the ledger, and the observer that looks them up."""
