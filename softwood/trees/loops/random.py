"""Random numbers that depend on a seed alone: a node's draws are a function of its path, not of the order of work."""

import numpy as np


def next_seed(seed, salt):
    """A new 64-bit seed from a seed and a number (splitmix64)."""
    z = seed + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(salt) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def to_unit(seed):
    """A number in [0, 1) from a 64-bit seed."""
    return np.float64(seed >> np.uint64(11)) * (1.0 / 9007199254740992.0)
