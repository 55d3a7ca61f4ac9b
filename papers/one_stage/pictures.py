"""Figures 7, 8 and 9 of the One-Stage Tree paper: what a tree for the Pima data can tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import OneStageTreeClassifier
from softwood.datasets import load_dataset
from softwood.plots import plot_gate_contributions, plot_importances, plot_leaf_distribution

SEED, N_ROWS = 0, 3


def write_pictures(folder: Path) -> None:
    """Contributions at the root for three rows, importances beside those of CART, classes in the leaves."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    data = load_dataset("pima_diabetes")
    X = data.X.fillna(data.X.mean())
    X, X_test, y, y_test = train_test_split(X, data.y, test_size=0.2, random_state=SEED, stratify=data.y)
    tree = OneStageTreeClassifier(random_state=SEED).fit(X, y)
    cart = DecisionTreeClassifier(max_depth=6, random_state=SEED).fit(X, y)

    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    plot_gate_contributions(tree, X_test, rows=list(range(N_ROWS)), ax=ax)
    figure.savefig(folder / "one_stage_figure_7.png", dpi=100)
    plt.close(figure)

    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    plot_importances({"CART": cart, "one-stage tree": tree}, ax=ax)
    figure.savefig(folder / "one_stage_figure_8.png", dpi=100)
    plt.close(figure)

    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    plot_leaf_distribution(tree, X_test, np.asarray(y_test), ax=ax)
    figure.savefig(folder / "one_stage_figure_9.png", dpi=100)
    plt.close(figure)
