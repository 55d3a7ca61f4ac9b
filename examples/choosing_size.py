"""
Choosing the bandwidth and the size of a tree
=============================================

A kernel tree has two settings that matter: the bandwidth, which says how far each row is spread, and the number of
leaves. By default both are chosen by held-out loss. This example shows what they do, and how the choice is made.
"""

import matplotlib.pyplot as plt
import numpy as np

from softwood import KernelTreeRegressor
from softwood.plots import plot_size_path

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(150, 1))
y = np.sin(X[:, 0]) + np.where(X[:, 0] > 6, 1.5, 0) + rng.normal(0, 0.3, 150)
grid = np.linspace(0, 10, 1000)[:, None]

# %%
# **The bandwidth** is given in standard deviations of a column. At 0 the tree is an ordinary regression tree: a step
# function. A small bandwidth turns steps into ramps. A large one smooths away the jump at 6 as well.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), sharey=True, layout="constrained")
for ax, bandwidth in zip(axes, (0, 0.2, 1.0), strict=True):
    model = KernelTreeRegressor(bandwidth=bandwidth, max_leaf_nodes=12).fit(X, y)
    ax.scatter(X[:, 0], y, s=8, color="0.7")
    ax.plot(grid[:, 0], model.predict(grid), color="C0")
    ax.set(title=f"bandwidth {bandwidth}, 12 leaves", xlabel="x")
plt.show()

# %%
# **The size** is the number of leaves. A tree that grows best first passes through the trees of all smaller sizes, so
# one growth on training rows scores every size on held-out rows.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), sharey=True, layout="constrained")
for ax, leaves in zip(axes, (3, 12, 100), strict=True):
    model = KernelTreeRegressor(bandwidth=0.05, max_leaf_nodes=leaves).fit(X, y)
    ax.scatter(X[:, 0], y, s=8, color="0.7")
    ax.plot(grid[:, 0], model.predict(grid), color="C0")
    ax.set(title=f"bandwidth 0.05, {model.get_n_leaves()} leaves", xlabel="x")
plt.show()

# %%
# **The default** chooses both: the smallest tree that is practically as good as the best one. ``"small"`` accepts a
# loss that is larger by up to one standard error, and is easier to read. The jump at 6 favours a small bandwidth here.

default = KernelTreeRegressor(random_state=0).fit(X, y)
small = KernelTreeRegressor(max_leaf_nodes="small", random_state=0).fit(X, y)
for name, model in {"default": default, "small": small}.items():
    print(f"{name:8} bandwidth {model.bandwidth_:.2f}, {model.get_n_leaves()} leaves")

# %%
# ``size_path_`` has the held-out losses that led to the choice, and ``plot_size_path`` draws them: one line for each
# bandwidth, loss against number of leaves.

ax = plot_size_path(default)
# sphinx_gallery_thumbnail_number = 3
ax.figure.set_size_inches(8, 5)
plt.show()
