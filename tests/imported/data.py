"""Tables for models of other packages, and rows that try their thresholds."""

import numpy as np


def table(n=400, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.01, 1.0] + [0.0, 5.0, 100.0, 0.0]
    X[:, 3] = np.round(X[:, 3])
    z = X[:, 0] + np.sin(X[:, 1]) + (X[:, 2] - 100.0) * 100 * X[:, 3]
    X[rng.random(X.shape) < missing] = np.nan
    return X, z


def labels(z, n_classes=3):
    return np.array(["ant", "bee", "cow"])[np.searchsorted(np.quantile(z, np.arange(1, n_classes) / n_classes), z)]


def trying_rows(trees, n=4000, seed=1, missing=0.0):
    """Rows of which many are on thresholds, or next to them in float64 or in float32."""
    rng = np.random.default_rng(seed)
    X, _ = table(n, seed, missing)
    tests = np.flatnonzero(trees.children_left >= 0)
    for i in range(n):
        node = rng.choice(tests)
        t = trees.threshold[node]
        if abs(t) < 1e30:
            step = rng.choice([0.0, 1.0, -1.0])
            near = np.nextafter(t, np.inf * step) if step else t
            near = np.float64(np.nextafter(np.float32(t), np.float32(step * np.inf))) if i % 3 == 0 and step else near
            X[i, trees.feature[node]] = near
    return X
