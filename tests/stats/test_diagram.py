import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from softwood.stats import friedman_test, nemenyi_test, plot_critical_difference
from softwood.stats.diagram import _groups
from tests.stats.printed import DEMSAR


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def random_scores(k, *, n_data_sets=20, long_names=True):
    rng = np.random.default_rng(k)
    names = [f"a model of a long name ({j})" if long_names and j % 3 == 0 else f"m{j}" for j in range(k)]
    return pd.DataFrame(rng.normal(size=(n_data_sets, k)) + np.linspace(0, 2, k), columns=names)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def bars(ax):
    """Ends of the thick bars, better rank first."""
    thick = max(line.get_linewidth() for line in ax.lines)
    return [tuple(line.get_xdata()) for line in ax.lines if line.get_linewidth() == thick]


def overlaps(ax):
    boxes = [(text.get_text(), text.get_window_extent()) for text in ax.texts]
    return [(a, b) for i, (a, one) in enumerate(boxes) for b, other in boxes[:i] if one.overlaps(other)]


@pytest.mark.parametrize("k", [2, 4, 9, 15])
@pytest.mark.parametrize("given", [False, True])
def test_texts_do_not_overlap_and_are_inside(k, given):
    ax = pyplot.subplots(figsize=(5, 3))[1] if given else None
    ax = plot_critical_difference(random_scores(k), ax=ax)
    figure = ax.get_figure()
    figure.draw_without_rendering()
    assert overlaps(ax) == []
    for text in ax.texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.height


@pytest.mark.parametrize("n_data_sets", [2, 5, 200])
def test_equal_ranks_and_long_critical_differences(n_data_sets):
    scores = pd.DataFrame(np.tile([3.0, 2.0, 2.0, 2.0, 1.0, 1.0], (n_data_sets, 1)), columns=[*"abcdef"])
    ax = plot_critical_difference(scores)
    assert overlaps(ax) == []
    assert texts(ax).count("3.00") == 3
    ends = ax.get_window_extent()
    for line in ax.lines:
        x = line.get_transform().transform(line.get_xydata())[:, 0]
        assert ends.x0 <= x.min() <= x.max() <= ends.x1
    if n_data_sets == 200:
        assert len(bars(ax)) == 2  # the equal ones, and no others
    else:
        assert bars(ax)[0][0] < 1 + 1e-9


def test_demsars_example():
    ax = plot_critical_difference(DEMSAR, alpha=0.10)
    assert "CD = 1.12" in texts(ax)
    assert {"C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf", "3.14", "2.00", "2.89", "1.96"} <= set(texts(ax))
    # C4.5+m+cf, C4.5+m and C4.5+cf are joined, and C4.5+cf and C4.5
    found = [(round(low, 1), round(high, 1)) for low, high in bars(ax)]
    assert found == [(1.9, 2.9), (2.9, 3.2)]
    assert ax.get_xlim()[0] > ax.get_xlim()[1]  # the best is at the right


def test_best_half_is_at_the_right():
    ax = plot_critical_difference(DEMSAR)
    place = {text.get_text(): text.get_window_extent().x0 for text in ax.texts}
    assert max(place["C4.5"], place["C4.5+cf"]) < min(place["C4.5+m"], place["C4.5+m+cf"])
    ax = plot_critical_difference(DEMSAR, higher_is_better=False)
    place = {text.get_text(): text.get_window_extent().x0 for text in ax.texts}
    assert max(place["C4.5+m"], place["C4.5+m+cf"]) < min(place["C4.5"], place["C4.5+cf"])


def test_findings_of_tests_can_be_drawn():
    expected = texts(plot_critical_difference(DEMSAR))
    assert texts(plot_critical_difference(friedman_test(DEMSAR))) == expected
    assert texts(plot_critical_difference(nemenyi_test(DEMSAR))) == expected
    at_ten = texts(plot_critical_difference(DEMSAR, alpha=0.1))
    assert at_ten != expected
    assert texts(plot_critical_difference(nemenyi_test(DEMSAR, alpha=0.1))) == at_ten
    assert texts(plot_critical_difference(nemenyi_test(DEMSAR, alpha=0.1), alpha=0.05)) == expected


def test_draws_into_given_axes_without_pyplot():
    ax = Figure().subplots(1, 2)[1]
    assert plot_critical_difference(DEMSAR, ax=ax) is ax
    assert overlaps(ax) == []
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 2, 3], []),
        ([1, 1.5, 3], [(0, 1)]),
        ([1, 1.9, 2.8, 3.7], [(0, 1), (1, 2), (2, 3)]),
        ([1, 1.4, 1.8, 2.2, 2.5], [(0, 2), (1, 3), (2, 4)]),
        ([2, 2, 2], [(0, 2)]),
    ],
)
def test_groups_are_the_largest_runs_closer_than_the_critical_difference(ranks, expected):
    assert _groups(np.array(ranks, dtype=float), 1.0) == expected


def test_missing_matplotlib_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'needs matplotlib. Install it with: pip install "softwood\[plots\]"'):
        plot_critical_difference(DEMSAR)
