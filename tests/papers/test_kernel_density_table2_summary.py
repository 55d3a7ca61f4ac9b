"""The summary of table 2 on made-up folds."""

import numpy as np
import pytest

from papers.kernel_density.table2_summary import (
    CONTESTS,
    contest,
    family_sections,
    read_published,
    scores_of,
    summarise,
    told,
    write_summary,
)
from tests.papers.made_up import made_up_folds

FOLDS = made_up_folds(
    {
        ("iris", "tree_sklearn"): [[0.9, 0.92], [0.9, 0.92]],
        ("iris", "tree_kernel"): [[0.95, 0.97], [0.91, 0.93]],
        ("iris", "tree_auto"): [[0.93, 0.94], [0.93, 0.94]],
        ("wine", "tree_sklearn"): [[0.9, 0.9]],
        ("wine", "tree_kernel"): [[0.88, 0.9]],
    }
)
PUBLISHED = {
    ("iris", "tree_sklearn"): 94.0,
    ("iris", "tree_kernel"): 96.7,
    ("wine", "tree_sklearn"): 89.5,
    ("wine", "tree_kernel"): 89.5,
}


def group_of(figures, group):
    return [f for f in figures if f.group == group]


def test_figures_are_means_over_repeats_with_the_error_of_one_draw():
    figures = group_of(summarise(FOLDS, PUBLISHED, n_folds=2), "decision tree")
    assert [(f.data_set, f.column) for f in figures] == [
        ("iris", "tree_sklearn"), ("iris", "tree_kernel"), ("iris", "tree_auto"),
        ("wine", "tree_sklearn"), ("wine", "tree_kernel"),
    ]  # fmt: skip
    kernel = figures[1]
    assert kernel.ours == pytest.approx(94.0)
    assert (kernel.low, kernel.high, kernel.repeats) == (pytest.approx(92.0), pytest.approx(96.0), 2)
    assert kernel.error == pytest.approx(np.std([95, 97], ddof=1) / np.sqrt(2))
    assert kernel.parameter == pytest.approx(0.15)
    assert figures[2].published is None


def test_only_complete_repeats_that_all_columns_have_count():
    folds = made_up_folds(
        {("iris", "tree_kernel"): [[0.9, 0.9], [0.5, 0.5], [0.1]], ("iris", "tree_auto"): [[0.8, 0.8], [0.3]]}
    )
    figures = group_of(summarise(folds, {}, n_folds=2), "decision tree")
    assert [(f.column, f.repeats, f.ours) for f in figures] == [
        ("tree_kernel", 1, pytest.approx(90.0)), ("tree_auto", 1, pytest.approx(80.0)),
    ]  # fmt: skip
    assert summarise(folds, {}, n_folds=3) == []


def test_fewer_repeats_of_ensembles_leave_the_table_of_trees_alone():
    folds = made_up_folds(
        {
            ("iris", "tree_kernel"): [[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]],
            ("iris", "tree_auto"): [[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]],
            ("iris", "forest_kernel"): [[0.95, 0.95], [0.85, 0.85]],
            ("iris", "default_forest"): [[0.95, 0.95]],
        }
    )
    figures = summarise(folds, {}, n_folds=2)
    assert {(f.group, f.column): (f.repeats, round(f.ours, 6)) for f in figures} == {
        ("decision tree", "tree_kernel"): (3, 80.0),
        ("decision tree", "tree_auto"): (3, 80.0),
        ("random forest", "forest_kernel"): (1, 95.0),
        ("random forest", "default_forest"): (1, 95.0),
        ("tuned", "tree_kernel"): (2, 85.0),
        ("tuned", "forest_kernel"): (2, 90.0),
        ("defaults", "tree_auto"): (1, 90.0),
        ("defaults", "default_forest"): (1, 95.0),
    }


def test_page_counts_wins_and_names_what_is_far():
    text = "\n".join(family_sections(summarise(FOLDS, PUBLISHED, n_folds=2), PUBLISHED))
    assert "| iris | 94.0 | 91.0 ± 1.0 | 96.7 | 94.0 ± 1.0 | 93.5 ± 0.5 |" in text
    assert (
        "- Kernel tree against scikit-learn's tree, pruned: better on 1 of 2 data sets, worse on 1 (wine). "
        "Published: better on 1 of 2 data sets, equal on 1 (wine)." in text
    )
    assert "- Default kernel tree against scikit-learn's tree, pruned: better on 1 of 1 data sets.\n" in text
    assert "- Default kernel tree against kernel tree: -0.50 points on average over 1 data sets" in text
    assert "1 of 2 figures of kernel models and 1 of 2 figures of other models" in text
    assert "    - iris, kernel tree: 94.0 against 96.7, -2.7 points" in text
    assert "random forest" not in text
    # the mean of an incomplete column would mislead
    assert next(line for line in text.splitlines() if "**mean**" in line).endswith("|  |")


def test_the_paper_counts_the_better_of_the_two_readings():
    scores = scores_of((name, column, points) for (name, column), points in read_published().items())
    counts = {}
    for family in ("decision tree", "random forest", "extra trees"):
        ours, theirs = CONTESTS[family][2]
        outcome = contest(scores, ours, [theirs])
        counts[family] = len(outcome[1]), len(outcome[0])
    # section 5 of the paper
    assert counts == {"decision tree": (12, 0), "random forest": (10, 0), "extra trees": (6, 3)}


def test_contest_goes_by_the_printed_decimal_and_needs_all_columns():
    scores = {"a": {"x": 90.04, "y": 89.96}, "b": {"x": 90.06, "y": 90.0}, "c": {"x": 80.0}, "d": {"x": 1.0, "y": 2.0}}
    outcome = contest(scores, ["x"], ["y"])
    assert outcome == {1: ["b"], 0: ["a"], -1: ["d"]}
    assert told(outcome) == "better on 1 of 3 data sets, equal on 1 (a), worse on 1 (d)"


def test_summary_file_has_a_line_for_each_figure(tmp_path):
    figures = summarise(FOLDS, PUBLISHED, n_folds=2)
    write_summary(figures, tmp_path / "summary.csv")
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert len(lines) == 1 + len(figures)
    assert lines[2] == "decision tree,iris,tree_kernel,96.7,94.00,1.00,-2.70,2,92.00,96.00,0.15,2"
    assert lines[3] == "decision tree,iris,tree_auto,,93.50,0.50,,2,93.50,93.50,0.15,2"
