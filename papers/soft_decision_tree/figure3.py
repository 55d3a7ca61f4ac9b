"""Figure 3 of Soft Decision Trees (2012): a noisy sine, a hard and a soft fit, and both trees, drawn into docs/images.

    python papers/soft_decision_tree/figure3.py

Needs matplotlib (pip install "softwood[plots]"). The paper does not say how its data were drawn: here a sine with noise
of standard deviation 0.2, 200 rows to train and 200 to validate. The soft tree has four leaves, as in the paper.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from softwood import SoftTreeRegressor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from papers.soft_decision_tree.hard_tree import PrePrunedTree

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "soft_decision_tree_figure_3.png"
NOISE, N_ROWS = 0.2, 200


def noisy_sine(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(0, 2 * np.pi, n)
    return x[:, None], np.sin(x) + rng.normal(scale=NOISE, size=n)


def places(left: np.ndarray, right: np.ndarray) -> dict[int, tuple[float, float]]:
    """Where the nodes are drawn: leaves side by side, parents in the middle of their children, depth downwards."""
    found: dict[int, tuple[float, float]] = {}
    n_leaves = 0

    def place(node: int, depth: int) -> float:
        nonlocal n_leaves
        if left[node] < 0:
            n_leaves += 1
            x = float(n_leaves)
        else:
            x = 0.5 * (place(left[node], depth + 1) + place(right[node], depth + 1))
        found[node] = (x, -float(depth))
        return x

    place(0, 0)
    return found


def draw_tree(ax: plt.Axes, left: np.ndarray, right: np.ndarray, title: str) -> None:
    where = places(left, right)
    for node, (x, y) in where.items():
        if left[node] >= 0:
            for child in (left[node], right[node]):
                ax.plot([x, where[child][0]], [y, where[child][1]], color="0.5", linewidth=1, zorder=1)
    inner = np.array([where[node] for node in where if left[node] >= 0]).reshape(-1, 2)
    leaves = np.array([where[node] for node in where if left[node] < 0])
    ax.scatter(*inner.T, s=28, color="#1f5fa8", zorder=2, label="gate")
    ax.scatter(*leaves.T, s=28, marker="s", color="#d9822b", zorder=2, label="leaf")
    ax.set_title(f"{title}: {len(where)} nodes, {len(leaves)} leaves", fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    ax.margins(0.08, 0.15)
    ax.axis("off")


def figure_3() -> tuple[plt.Figure, dict[str, tuple[int, float]]]:
    """The figure, and of both trees the number of nodes and the squared error against the sine without noise."""
    rng = np.random.default_rng(0)
    (X, y), (X_val, y_val) = noisy_sine(rng, N_ROWS), noisy_sine(rng, N_ROWS)
    hard = PrePrunedTree(is_class=False).fit(X, y, X_val, y_val)
    soft = SoftTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    grid = np.linspace(0, 2 * np.pi, 1000)[:, None]
    truth = np.sin(grid[:, 0])
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", height_ratios=(3, 2))
    results = {}
    for ax, below, name, model, sides in (
        (axes[0, 0], axes[1, 0], "hard tree", hard, (hard.left, hard.right)),
        (axes[0, 1], axes[1, 1], "soft tree", soft, (soft.tree_.children_left, soft.tree_.children_right)),
    ):
        fit = model.predict(grid)
        error = float(np.mean((fit - truth) ** 2))
        ax.scatter(X[:, 0], y, s=6, color="0.7", label="training rows")
        ax.plot(grid[:, 0], truth, color="0.3", linestyle=":", label="sine")
        ax.plot(grid[:, 0], fit, color="#c0392b", label=name)
        ax.set_title(f"{name}: squared error against the sine {error:.4f}", fontsize=10)
        ax.set_xlabel("x")
        ax.legend(frameon=False, fontsize=8)
        draw_tree(below, *sides, name)
        results[name] = (hard.n_nodes if model is hard else soft.tree_.n_nodes, error)
    axes[0, 0].set_ylabel("y")
    return figure, results


def main() -> None:
    figure, results = figure_3()
    figure.savefig(IMAGE, dpi=110)
    for name, (n_nodes, error) in results.items():
        print(f"{name}: {n_nodes} nodes, squared error against the sine {error:.4f}")
    print(f"written: {IMAGE}")


if __name__ == "__main__":
    main()
