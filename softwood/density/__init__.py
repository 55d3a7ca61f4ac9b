"""Kernel trees: fuzzy trees from kernel density estimation."""
