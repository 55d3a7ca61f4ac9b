"""The scripts of the soft decision tree paper: the hard tree, runs that are stopped and go on, tables, figure 3."""

import csv

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from papers.soft_decision_tree import tables, tables_summary
from papers.soft_decision_tree.hard_tree import PrePrunedTree


def noisy(seed, n=150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + rng.normal(scale=0.5, size=n)


def made_up_halves(name):
    (X, y), (X_val, y_val), (X_test, y_test) = noisy(0), noisy(1), noisy(2)
    if name in tables_summary.CLASSES:
        y, y_val, y_test = (np.asarray(part > 0.5, dtype=int) for part in (y, y_val, y_test))
    for replication in range(1, 6):
        for half in (1, 2):
            if half == 2:
                X, y, X_val, y_val = X_val, y_val, X, y
            yield replication, half, tables.Halves(X, y, X_val, y_val, X_test, y_test)


def test_without_pruning_the_hard_tree_is_the_full_one():
    X, y = noisy(0)
    grid = np.random.default_rng(5).normal(size=(300, 3))
    ours = PrePrunedTree(is_class=False, prune=False).fit(X, y, *noisy(1))
    full = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert ours.n_nodes == full.tree_.node_count
    np.testing.assert_array_equal(ours.predict(grid), full.predict(grid))
    classes = PrePrunedTree(is_class=True, prune=False).fit(X, y > 0, X, y > 0)
    np.testing.assert_array_equal(
        classes.predict(grid), DecisionTreeClassifier(random_state=0).fit(X, y > 0).predict(grid)
    )


def test_pre_pruning_keeps_only_splits_that_help_validation_rows():
    (X, y), (X_val, y_val) = noisy(0), noisy(1)
    tree = PrePrunedTree(is_class=False).fit(X, y, X_val, y_val)
    assert 1 < tree.n_nodes < tree.full.tree_.node_count
    pruned = np.mean((tree.predict(X_val) - y_val) ** 2)
    full = np.mean((tree.full.predict(X_val) - y_val) ** 2)
    assert pruned < full
    # a kept split above two leaves, taken back, makes the validation rows worse
    path = tree.full.decision_path(X_val).toarray() > 0
    last = np.flatnonzero((tree.left >= 0) & (tree.left[tree.left] < 0) & (tree.left[tree.right] < 0))
    reached = [node for node in last if _is_kept(tree, node)]
    assert reached
    for node in reached:
        here = path[:, node]
        as_leaf = ((y_val[here] - tree.value[node]) ** 2).sum()
        assert ((tree.predict(X_val[here]) - y_val[here]) ** 2).sum() < as_leaf


def _is_kept(tree, node):
    """Whether the pruned tree reaches this node of the full one."""
    pending = [0]
    while pending:
        here = pending.pop()
        if here == node:
            return True
        if tree.left[here] >= 0:
            pending += [tree.left[here], tree.right[here]]
    return False


def test_runs_go_on_where_they_stopped(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    tables.run(["concrete"], ["hard"], path, made_up_halves)
    first = path.read_text()
    assert len(first.splitlines()) == 11
    tables.run(["concrete"], ["hard", "ldt"], path, made_up_halves)  # there is no LDT for regression
    assert path.read_text() == first
    lines = first.splitlines()
    path.write_text("\n".join(lines[:-2]) + "\n")
    tables.run(["concrete"], ["hard"], path, made_up_halves)
    assert [line.split(",")[:6] for line in path.read_text().splitlines()] == [line.split(",")[:6] for line in lines]
    assert "concrete 5-2 hard" in capsys.readouterr().out


@pytest.mark.parametrize("column", [*tables.COLUMNS])
def test_every_column_runs(column):
    _, _, rows = next(made_up_halves("spambase"))
    result = tables.run_one(column, True, rows)
    assert 60 < result["score"] <= 100
    assert result["nodes"] % 2 == 1


def rows_of(name, column, scores, nodes):
    return [
        {"data_set": name, "column": column, "replication": k // 2 + 1, "half": k % 2 + 1, "score": s, "nodes": n}
        for k, (s, n) in enumerate(zip(scores, nodes, strict=True))
    ]


def test_verdicts_and_tables(tmp_path):
    rng = np.random.default_rng(0)
    rows = rows_of("spambase", "soft", 93 + 0.1 * rng.normal(size=10), [9] * 10)
    rows += rows_of("spambase", "hard", 90 + 0.1 * rng.normal(size=10), range(40, 60, 2))
    rows += rows_of("pima_diabetes", "soft", 76 + rng.normal(size=10), [5] * 10)
    rows += rows_of("pima_diabetes", "hard", 76 + rng.normal(size=10), [5] * 10)
    rows += rows_of("twonorm", "soft", [98] * 9, [3] * 9)  # not complete: left out
    runs = tables_summary.complete(rows)
    assert set(runs) == {"spambase", "pima_diabetes"}
    soft, hard = runs["spambase"]["soft"], runs["spambase"]["hard"]
    assert tables_summary.verdict(soft, hard, larger_is_better=True, kind="score") == "win"
    assert tables_summary.verdict(soft, hard, larger_is_better=False, kind="score") == "loss"
    assert tables_summary.verdict(soft, hard, larger_is_better=True, kind="nodes") == "win"
    assert tables_summary.verdict(hard, soft, larger_is_better=True, kind="nodes") == "loss"
    same = runs["pima_diabetes"]
    assert tables_summary.verdict(same["soft"], same["hard"], larger_is_better=True, kind="nodes") == "tie"
    text = "\n".join(tables_summary.sections(rows).values())
    assert "1 win (spambase), 1 tie, 0 losses" in text
    assert "accuracy at least the published one on 2 of 2" in text
    summary = tmp_path / "tables.csv"
    tables_summary.write_summary(summary, rows)
    with summary.open(newline="") as lines:
        found = {(row["data_set"], row["column"]): row for row in csv.DictReader(lines)}
    assert found["spambase", "hard"]["published_score"] == "90.14"
    assert found["spambase", "soft"]["nodes"] == "9.0"


def test_published_figures_are_complete():
    published = tables_summary.read_published()
    assert set(published) == {*tables_summary.REALS, *tables_summary.CLASSES}
    assert published["ringnorm"]["nodes_soft"] == 368
    assert "score_ldt" not in published["concrete"]


def test_figure_3_shows_a_smaller_and_better_soft_tree():
    pytest.importorskip("matplotlib")
    from papers.soft_decision_tree import figure3

    figure, results = figure3.figure_3()
    assert len(figure.axes) == 4
    assert results["soft tree"][0] == 7 < results["hard tree"][0]
    assert results["soft tree"][1] < results["hard tree"][1]
    figure3.plt.close(figure)
