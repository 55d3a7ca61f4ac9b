"""Smooth regression of two targets: errors compared with conventional trees, and the slope of the prediction."""

import numpy as np
from sklearn.metrics import root_mean_squared_error
from sklearn.tree import DecisionTreeRegressor

from softwood import KernelTreeRegressor


def waves(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(X[:, 0]) * X[:, 1], np.cos(X[:, 0])])


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(600, 2))
    y = waves(X) + rng.normal(0, 0.3, size=(600, 2))
    X_test = rng.uniform(-2.5, 2.5, size=(2000, 2))

    models = {
        "CART": DecisionTreeRegressor(random_state=0),
        "CART, leaves of 5 rows": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
        "kernel tree": KernelTreeRegressor(random_state=0),
        "kernel tree, crisp": KernelTreeRegressor(prediction_kernel=None, random_state=0),
        "kernel tree, gaussian": KernelTreeRegressor(kernel="gaussian", random_state=0),
    }
    print("root of the mean squared error to the true surface")
    for name, model in models.items():
        print(f"  {name:24} {root_mean_squared_error(waves(X_test), model.fit(X, y).predict(X_test)):.3f}")

    model = models["kernel tree, gaussian"]
    print(f"\nchosen bandwidth: {model.bandwidth_:.2f} standard deviations")
    points = np.array([[0.0, 1.0], [0.0, -1.0], [1.5, 1.0]])
    slopes = model.input_gradient(points)[:, 0, 0]  # rows, of target 0, by column 0
    for point, slope, truth in zip(points, slopes, np.cos(points[:, 0]) * points[:, 1], strict=True):
        print(f"slope of the first target along the first column at {point}: {slope:+.2f} (true {truth:+.2f})")


if __name__ == "__main__":
    main()
