"""What all families stand on: tables, targets, parameters, losses, steps of a fit, memory, optional packages."""
