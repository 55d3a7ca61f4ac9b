"""
Smooth regression of two targets
================================

One tree for two targets, its error beside that of conventional trees, and the slope of its prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import root_mean_squared_error
from sklearn.tree import DecisionTreeRegressor

from softwood import KernelTreeRegressor

rng = np.random.default_rng(0)


def waves(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(X[:, 0]) * X[:, 1], np.cos(X[:, 0])])


X = rng.uniform(-3, 3, size=(600, 2))
y = waves(X) + rng.normal(0, 0.3, size=(600, 2))
X_test = rng.uniform(-2.5, 2.5, size=(2000, 2))

# %%
# The error is that to the true surface, without noise. "Crisp" is the same tree, predicting without a kernel.

models = {
    "CART": DecisionTreeRegressor(random_state=0),
    "CART, leaves of 5 rows": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "kernel tree": KernelTreeRegressor(random_state=0),
    "kernel tree, crisp": KernelTreeRegressor(prediction_kernel=None, random_state=0),
    "kernel tree, gaussian": KernelTreeRegressor(kernel="gaussian", random_state=0),
}
print("root mean squared error to the true surface")
for name, model in models.items():
    print(f"  {name:24} {root_mean_squared_error(waves(X_test), model.fit(X, y).predict(X_test)):.3f}")

# %%
# The first target as a surface: the true one, that of a CART, and that of a kernel tree.

side = np.linspace(-2.5, 2.5, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
surfaces = {"true": waves(grid)}
for name in ("CART, leaves of 5 rows", "kernel tree, gaussian"):
    surfaces[name] = models[name].predict(grid)
for ax, (name, surface) in zip(axes, surfaces.items(), strict=True):
    ax.imshow(surface[:, 0].reshape(120, 120), origin="lower", extent=(-2.5, 2.5, -2.5, 2.5), vmin=-2.5, vmax=2.5)
    ax.set_title(name)
plt.show()

# %%
# A smooth prediction has a slope, which ``input_gradient`` computes.

model = models["kernel tree, gaussian"]
points = np.array([[0.0, 1.0], [0.0, -1.0], [1.5, 1.0]])
slopes = model.input_gradient(points)[:, 0, 0]  # rows, of target 0, by column 0
for point, slope, truth in zip(points, slopes, np.cos(points[:, 0]) * points[:, 1], strict=True):
    print(f"slope of the first target along the first column at {point}: {slope:+.2f} (true {truth:+.2f})")
