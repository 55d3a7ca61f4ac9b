"""The figures of the kernel tree paper can be drawn."""

import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from papers.kernel_density import figures
from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.datasets import toy_classification, toy_regression


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_figure_1_shows_two_partitions_and_a_prediction():
    axes = figures.figure_1().axes
    assert [bool(ax.get_title()) for ax in axes] == [True] * 3
    n_points = len(figures.small_example()[0])
    cart, crisp, kernel = (len(ax.patches) for ax in axes)
    assert cart > 2
    assert crisp > n_points + cart  # a square for each point, and a partition finer than that of CART
    assert kernel == 0


@pytest.mark.parametrize(
    ("kind", "draw_set", "models", "panels"),
    [
        (
            "gaussians", toy_classification, (DecisionTreeClassifier(max_depth=2), KernelTreeClassifier(bandwidth=0.3)),
            (figures.draw_class_data, figures.draw_class_model),
        ),
        (
            "sine", toy_regression, (DecisionTreeRegressor(max_depth=2), KernelTreeRegressor(bandwidth=0.3)),
            (figures.draw_value_data, figures.draw_value_model),
        ),
    ],
)  # fmt: skip
def test_toy_figures_have_a_row_for_each_size_and_scores_in_the_panels(kind, draw_set, models, panels, monkeypatch):
    monkeypatch.setattr(figures, "SIZES", (40, 60))
    monkeypatch.setattr(figures, "N_TEST", 200)
    named = dict(zip(("decision tree", "kernel tree"), models, strict=True))
    axes = figures.toy_figure((kind,), draw_set, named, *panels).axes
    assert len(axes) == 2 * 3
    assert axes[3].get_ylabel() == f"{kind}, 60"
    scores = [float(text.get_text()) for ax in axes for text in ax.texts]
    assert len(scores) == 4
    assert min(scores) > 30


def test_models_are_those_of_the_paper():
    for models in (figures.classifiers(), figures.regressors()):
        assert len(models) == 4
        assert models["kernel tree"].bandwidth == "cv"
