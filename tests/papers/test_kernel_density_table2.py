"""The script of table 2: its summary on made-up folds, and a small run that is stopped and goes on."""

import csv

import numpy as np
import pytest

from papers.kernel_density import table2


def made_up_folds(accuracies):
    return [
        {
            "data_set": data_set, "column": column, "repeat": repeat, "fold": fold,
            "accuracy": accuracy, "parameter": 0.1 * (fold + 1), "seconds": 2.0,
        }
        for (data_set, column), repeats in accuracies.items()
        for repeat, folds in enumerate(repeats)
        for fold, accuracy in enumerate(folds)
    ]  # fmt: skip


FOLDS = made_up_folds(
    {
        ("iris", "tree_sklearn"): [[0.9, 0.92], [0.9, 0.92]],
        ("iris", "tree_kernel"): [[0.95, 0.97], [0.91, 0.93]],
        ("iris", "tree_auto"): [[0.93, 0.94], [0.93, 0.94]],
        ("wine", "tree_sklearn"): [[0.9, 0.9]],
        ("wine", "tree_kernel"): [[0.88, 0.9]],
    }
)
PUBLISHED = {("iris", "tree_sklearn"): 94.0, ("iris", "tree_kernel"): 96.7, ("wine", "tree_kernel"): 89.5}


def test_figures_are_means_over_repeats_with_the_error_of_one_draw():
    figures = table2.summarise(FOLDS, PUBLISHED, n_folds=2)
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
    figures = table2.summarise(folds, {}, n_folds=2)
    assert [(f.column, f.repeats, f.ours) for f in figures] == [
        ("tree_kernel", 1, pytest.approx(90.0)), ("tree_auto", 1, pytest.approx(80.0)),
    ]  # fmt: skip
    assert table2.summarise(folds, {}, n_folds=3) == []


def test_markdown_counts_wins_and_names_what_is_far():
    text = table2.markdown(table2.summarise(FOLDS, PUBLISHED, n_folds=2))
    assert "| iris | 94.0 | 91.0 ± 1.0 | 96.7 | 94.0 ± 1.0 | 93.5 ± 0.5 |" in text
    assert "The kernel tree beats scikit-learn's pruned tree on 1 of 2 data sets (not on wine)." in text
    assert "-0.50 points on average over 1 data sets" in text
    assert "1 of 2 kernel-tree figures lie within 1.5 points" in text
    assert "- iris, kernel tree: 94.0 against 96.7, -2.7 points" in text
    # the mean of an incomplete column would mislead
    assert next(line for line in text.splitlines() if "**mean**" in line).endswith("|  |")


def test_page_is_changed_between_the_markers_only(tmp_path):
    page = tmp_path / "page.md"
    table2.write_page("old", page)
    page.write_text("before\n" + page.read_text() + "after\n")
    table2.write_page("new", page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "new" in text
    assert "old" not in text


def test_page_without_markers_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("words")
    with pytest.raises(ValueError, match="must have the lines"):
        table2.write_page("new", page)


def read_blobs(name):
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(["a", "b", "c"]), 16)
    X = rng.normal(size=(48, 2)) + 3 * (y[:, None] == ["a", "b"])
    return X, y


def test_run_goes_through_and_goes_on_where_it_stopped(tmp_path, capsys):
    path = tmp_path / "folds.csv"
    options = {"repeats": 1, "path": path, "n_folds": 2, "read": read_blobs}
    table2.run(["blobs"], ["tree_auto", "tree_kernel"], **options)
    first = path.read_text()
    assert "tree_kernel_read_crisp" in first  # served by the same fit
    assert "blobs repeat 1/1 fold 2/2" in capsys.readouterr().out

    table2.run(["blobs"], list(table2.COLUMNS), **options)
    text = path.read_text()
    assert text.startswith(first)
    assert "tree_auto" not in capsys.readouterr().out
    figures = table2.summarise(table2.read_folds(path), {}, n_folds=2)
    assert [f.column for f in figures] == list(table2.COLUMNS)
    assert all(f.ours > 70 and f.repeats == 1 for f in figures)

    table2.drop_folds(path, ["blobs"], ["tree_kernel"])
    assert {row["column"] for row in table2.read_folds(path)} == {"tree_sklearn", "tree_crisp", "tree_auto"}

    summary = tmp_path / "summary.csv"
    table2.write_summary(figures, summary)
    with summary.open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(table2.COLUMNS)
    assert rows[0]["published"] == ""


def test_published_figures_cover_all_data_sets():
    published = table2.read_published()
    for column in ("tree_sklearn", "tree_kernel", "tree_crisp"):
        assert {name for name, other in published if other == column} == set(table2.DATA_SETS)
