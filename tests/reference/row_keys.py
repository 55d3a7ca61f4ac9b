"""Keys of rows by content, column by column with numpy."""

import numpy as np


def row_keys(X, seed):
    """As `softwood.kernel.data.row_keys.row_keys`."""

    def mix(z):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    chain = np.full(len(X), seed, dtype=np.uint64)
    for j in range(X.shape[1]):
        column = X[:, j] + 0.0  # -0.0 becomes 0.0
        column[np.isnan(column)] = np.nan  # the same bits for every nan
        chain = mix(chain + np.uint64(0x9E3779B97F4A7C15)) + mix(column.view(np.uint64))
    return mix(chain)
