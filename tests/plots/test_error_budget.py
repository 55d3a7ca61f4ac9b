"""The plot of the budget of measurement errors."""

import numpy as np
import pytest

from softwood.explanations import ErrorBudget
from softwood.plots import plot_error_budget


def budget(n=4):
    cost = np.arange(n, dtype=float)
    return ErrorBudget(
        tuple(f"c{j}" for j in range(n)),
        np.full(n, 0.25),
        cost,
        cost / 4,
        cost / 2,
        cost / 8,
        9.0,
        1.0,
        "squared_error",
    )


def test_bars_and_their_standard_errors():
    ax = plot_error_budget(budget())
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"c{j} ± 0.25" for j in (3, 2, 1, 0)]
    assert [bar.get_width() for bar in ax.patches] == [3, 2, 1, 0, 1.5, 1, 0.5, 0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cost of the error", "gain if it is halved"]
    ends = [line.get_segments() for container in ax.containers[2:] for line in container.lines[2]]
    assert len(ends) == 2
    assert ends[0][0][:, 0].tolist() == [2.25, 3.75]
    assert ax.get_xlabel() == "mean loss (squared_error)"


def test_the_largest_ones_only_and_what_is_refused():
    assert len(plot_error_budget(budget(), n=2).patches) == 4
    assert len(plot_error_budget(budget(40)).patches) == 30
    with pytest.raises(TypeError, match="plot_error_budget takes what"):
        plot_error_budget(3)
