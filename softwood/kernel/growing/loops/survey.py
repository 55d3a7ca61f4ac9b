"""Passes over many rows: numbers by content, and sums of columns."""

import numpy as np

NAN_BITS = 0x7FF8000000000000


def mix_bits(z):
    """The last steps of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def key_rows(matrix, bits, seed, out):
    """64 pseudo-random bits for each row that depend only on its content and the seed.

    Parameters
    ----------
    matrix : (n, p);  bits : the same bytes as uint64
    out : (n,) uint64, filled
    """
    for i in range(matrix.shape[0]):
        chain = seed
        for j in range(matrix.shape[1]):
            x = matrix[i, j]
            cell = bits[i, j]
            if x == 0.0:  # also -0.0
                cell = np.uint64(0)
            if np.isnan(x):
                cell = np.uint64(NAN_BITS)
            chain = mix_bits(chain + np.uint64(0x9E3779B97F4A7C15)) + mix_bits(cell)
        out[i] = mix_bits(chain)


def add_moments(matrix, weights, middle, half, scales, out):
    """Add the sums of weights, of weighted values and of their squares to `out`, as whole numbers.

    Missing values are left out; others are measured in units of `half`, and then from `middle`.

    Parameters
    ----------
    matrix : (n, p);  weights : (n,);  middle, half : (p,)
    scales : (2,) two powers of two whose product may be too large for a float
    out : (3, p) int64
    """
    first, second = scales[0], scales[1]
    for i in range(matrix.shape[0]):
        w = weights[i]
        for j in range(matrix.shape[1]):
            x = matrix[i, j]
            if np.isnan(x):
                continue
            z = x / half[j] - middle[j]
            out[0, j] += int(np.rint(w * first * second))
            out[1, j] += int(np.rint(w * z * first * second))
            out[2, j] += int(np.rint(w * z * z * first * second))
