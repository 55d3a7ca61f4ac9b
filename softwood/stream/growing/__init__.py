"""Trees and forests while they grow: arrays, capacity, limits, log, alarms, restart, snapshot."""
