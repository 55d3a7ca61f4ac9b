"""The picture of the choice of size and bandwidth."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from softwood import KernelForestClassifier, KernelTreeClassifier
from softwood.plots import plot_size_path

X, y = load_iris(return_X_y=True)


def test_a_line_for_each_bandwidth_and_one_for_the_tree():
    model = KernelTreeClassifier(random_state=0).fit(X, y)
    ax = plot_size_path(model)
    *lines, own = ax.get_lines()
    scales = np.unique(model.size_path_["bandwidth"])
    assert [line.get_label() for line in lines] == [f"bandwidth {scale:g}" for scale in scales]
    for scale, line in zip(scales, lines, strict=True):
        rows = model.size_path_["bandwidth"] == scale
        np.testing.assert_array_equal(line.get_xdata(), model.size_path_["max_leaf_nodes"][rows])
        np.testing.assert_array_equal(line.get_ydata(), model.size_path_["loss"][rows])
    assert own.get_xdata()[0] == model.get_n_leaves()
    assert len(ax.collections) == 1, "the band of the chosen one"
    widths = [line.get_linewidth() for line in lines]
    assert scales[np.argmax(widths)] == model.bandwidth_


def test_a_given_bandwidth():
    figure = mpl.figure.Figure()
    mine = figure.subplots()
    ax = plot_size_path(KernelTreeClassifier(bandwidth=0.2, random_state=0).fit(X, y), ax=mine)
    assert ax is mine
    assert ax.get_lines()[0].get_label() == "as given"


def test_models_without_a_path():
    with pytest.raises(NotFittedError):
        plot_size_path(KernelTreeClassifier())
    with pytest.raises(ValueError, match="KernelTreeClassifier has no size_path_"):
        plot_size_path(KernelTreeClassifier(max_leaf_nodes=4).fit(X, y))
    with pytest.raises(ValueError, match="KernelForestClassifier has no size_path_"):
        plot_size_path(KernelForestClassifier(2).fit(X, y))
    with pytest.raises(ValueError, match="too few different rows"):
        plot_size_path(KernelTreeClassifier().fit(X[:1].repeat(9, axis=0), y[:9]))
