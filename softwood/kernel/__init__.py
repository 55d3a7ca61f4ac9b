"""Kernel trees: soft trees from kernel density estimation."""
