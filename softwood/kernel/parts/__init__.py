"""Growth from sums over parts of the rows, which may be on several machines."""
