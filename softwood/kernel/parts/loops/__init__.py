"""Sources of the compiled loops of sums over parts."""
