import numpy as np
import pytest

from softwood.core.steps import Steps
from softwood.gradient import growing, refining
from softwood.gradient.data import LearningSet
from softwood.gradient.growing import GrownTree, SoftRules, grow_soft_tree, leaf_values, lone_root
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, SOFTMAX
from softwood.gradient.refining import OLD_VALUE_ROWS, refine, refit_values
from tests.reference.soft import Tree, loss, predict

LINKS = {"reals": IDENTITY, "two classes": LOGISTIC, "three classes": SOFTMAX}
links = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)


def rows(link, n=60, seed=0):
    """A problem that one split does not solve."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    signal = np.sin(2 * points[:, 0]) + points[:, 1] * (points[:, 0] > 0)
    if link == IDENTITY:
        targets = np.column_stack([signal, -(signal**2)])
    elif link == LOGISTIC:
        targets = (signal > 0).astype(float)[:, None]
    else:
        targets = (np.digitize(signal, [-0.5, 0.5])[:, None] == np.arange(3)).astype(float)
    weights = rng.choice([0.5, 1.0, 2.0], size=n)
    return LearningSet(points, targets, weights / weights.mean())


class Watched(Steps):
    """Steps that call a function after each, when the next one begins."""

    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    def begin(self):
        if len(self.history) > 1:
            self.watch()
        return super().begin()


def grow(link, *, progress=None, n=60, **rules):
    """A tree, with a line of its history for each trial."""
    rules = SoftRules(**{"max_iter": 8, "min_gain": 0.0, "max_leaf_nodes": 7, **rules})
    train, validation = rows(link, n), rows(link, n, seed=1)
    tree = lone_root(train, link)
    steps = Steps() if progress is None else Watched(lambda: progress(tree))
    grow_soft_tree(train, validation, link, rules, 0, tree=tree, steps=steps)
    if progress is not None:
        progress(tree)
    tree.history = steps.history[1:]
    return tree


def refined(tree, link, **rules):
    """Validation losses before, and after each joint pass."""
    rules = SoftRules(**rules)
    steps = Steps("pass", rules.refine_max_iter)
    refine(tree, rows(link), rows(link, seed=1), link, rules, 0, steps)
    return [line["validation_loss"] for line in steps.history]


def mean_loss(tree, data, link):
    return Tree(*tree.arrays()).loss(data.points, data.targets, data.weights, link) / data.weights.sum()


def depths(tree):
    out = np.zeros(len(tree.left), dtype=int)
    for node in range(len(tree.left)):
        if tree.left[node] >= 0:
            out[[tree.left[node], tree.right[node]]] = out[node] + 1
    return out


# ------------------------------------------------------------------ one split at a time


@pytest.mark.tiny
@links
@pytest.mark.parametrize("growth", ["breadth", "depth"])
def test_all_but_the_split_node_is_frozen(link, growth):
    trees = [lone_root(rows(link), link).arrays()]
    tree = grow(link, growth=growth, progress=lambda tree: trees.append(tree.arrays()))
    assert len(tree.left) > 5
    assert len(trees) == len(tree.history) + 1
    for before, after, trial in zip(trees[:-1], trees[1:], tree.history, strict=True):
        n, node = len(before[0]), trial["node"]
        assert len(after[0]) == (n + 2 if trial["kept"] else n)
        others = np.arange(n) != node
        for one, other in zip(before[:3], after[:3], strict=True):
            assert np.array_equal(one[others], other[:n][others])
        assert np.array_equal(before[3], after[3][:n])  # an inner node keeps the value that it had as a leaf
        if trial["kept"]:
            assert before[0][node] == -1
            assert (after[0][node], after[1][node]) == (n, n + 1)
            assert after[0][n:].tolist() == after[1][n:].tolist() == [-1, -1]


@pytest.mark.tiny
@links
def test_what_is_remembered_equals_the_whole_tree_computed_anew(link, monkeypatch):
    train, validation = rows(link), rows(link, seed=1)
    tree = lone_root(train, link)
    train_split, n_calls = growing._Grower.train_split, []

    def checked(self, leaf, rest, validation_rest):
        whole = Tree(*tree.arrays())
        for data, path, others in ((train, leaf.path, rest), (validation, leaf.validation_path, validation_rest)):
            shares = np.array([whole.shares(x)[leaf.node] for x in data.points])
            outputs = np.array([whole.output(x) for x in data.points])
            np.testing.assert_allclose(path, shares, rtol=0, atol=1e-12)
            np.testing.assert_allclose(others, outputs - shares[:, None] * tree.values[leaf.node], rtol=0, atol=1e-10)
        n_calls.append(leaf.node)
        return train_split(self, leaf, rest, validation_rest)

    monkeypatch.setattr(growing._Grower, "train_split", checked)
    grow_soft_tree(train, validation, link, SoftRules(max_iter=5, min_gain=0.0, max_leaf_nodes=6), 0, tree=tree)
    assert len(n_calls) > 4


@pytest.mark.tiny
@links
@pytest.mark.parametrize("growth", ["breadth", "depth"])
def test_history_tells_the_losses_of_the_tree(link, growth):
    losses = []
    train, validation = rows(link), rows(link, seed=1)

    def progress(tree):
        losses.append((mean_loss(tree, train, link), mean_loss(tree, validation, link)))

    tree = grow(link, growth=growth, progress=progress)
    before = mean_loss(lone_root(train, link), validation, link)
    for trial, (on_training, on_validation) in zip(tree.history, losses, strict=True):
        assert trial["validation_loss_before"] == pytest.approx(before)
        assert trial["kept"] == (trial["validation_loss"] < trial["validation_loss_before"])
        if trial["kept"]:
            assert trial["train_loss"] == pytest.approx(on_training)
            assert trial["validation_loss"] == pytest.approx(on_validation)
            before = on_validation
    kept = [trial["validation_loss"] for trial in tree.history if trial["kept"]]
    assert np.all(np.diff(kept) < 0)
    assert len(kept) == (len(tree.left) - 1) // 2
    assert all(trial["depth"] == depths(tree)[trial["node"]] for trial in tree.history)


def test_splits_stay_only_if_they_are_worth_it():
    for least in (0.0, 0.05, 0.3):
        tree = grow(IDENTITY, min_gain=least, max_leaf_nodes=None)
        for trial in tree.history:
            is_better = trial["validation_loss"] < trial["validation_loss_before"] * (1 - least)
            assert trial["kept"] == is_better
    assert len(grow(IDENTITY, min_gain=1.0).left) == 1


@pytest.mark.tiny
@links
def test_a_split_is_better_than_a_constant_and_than_the_hard_test_it_began_with(link):
    tree = grow(link, max_leaf_nodes=2, min_gain=0.01)
    train = rows(link)
    assert len(tree.left) == 3
    begin = growing._Grower(train, train, link, SoftRules(), 0)._start(train.weights, 0)
    lone = lone_root(train, link)
    first = lone_root(train, link)
    first.split(0, *begin)
    now = mean_loss(tree, train, link)
    assert now < mean_loss(lone, train, link)
    assert now < mean_loss(first, train, link)


# ------------------------------------------------------------------ limits and orders


@links
@pytest.mark.parametrize("growth", ["breadth", "depth"])
def test_limits(link, growth):
    for max_depth in (1, 2, 3):
        tree = grow(link, growth=growth, max_depth=max_depth, max_leaf_nodes=None)
        assert depths(tree).max() == max_depth
    for most in (2, 3, 5):
        tree = grow(link, growth=growth, max_leaf_nodes=most)
        assert tree.n_leaves == most
        assert tree.n_leaves == sum(left < 0 for left in tree.left)


@pytest.mark.tiny
def test_breadth_goes_level_by_level_and_depth_left_first():
    by_level = grow(IDENTITY, growth="breadth")
    order = [trial["depth"] for trial in by_level.history]
    assert order == sorted(order)
    assert [trial["node"] for trial in by_level.history] == sorted(trial["node"] for trial in by_level.history)
    tree = grow(IDENTITY, growth="depth", max_leaf_nodes=5)
    expected, pending = [], [0]
    while pending:
        node = pending.pop()
        expected.append(node)
        if tree.left[node] >= 0:
            pending += [tree.right[node], tree.left[node]]
    tried = [trial["node"] for trial in tree.history]
    assert tried == [node for node in expected if node in tried]
    assert tried[:2] == [0, 1]


@pytest.mark.tiny
def test_both_orders_train_the_same_first_split():
    one, other = (grow(LOGISTIC, growth=growth, max_leaf_nodes=2) for growth in ("breadth", "depth"))
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        assert np.array_equal(a, b)


# ------------------------------------------------------------------ starts, steps, selection


@links
@pytest.mark.parametrize("start", ["hard", "paper", "random"])
def test_every_start_leads_to_a_tree(link, start):
    tree = grow(link, init=start, max_iter=25, max_leaf_nodes=12, n=150)
    before = tree.history[0]["validation_loss_before"]
    kept = [trial["validation_loss"] for trial in tree.history if trial["kept"]]
    assert kept[-1] < 0.75 * before


@pytest.mark.tiny
@links
def test_first_gates(link):
    train = rows(link)
    for slope in (1.0, 4.0):
        gate, values = growing._Grower(train, train, link, SoftRules(init_slope=slope), 0)._start(train.weights, 0)
        feature = int(np.flatnonzero(gate[:-1])[0])
        threshold = gate[-1] / slope
        assert gate[feature] == -slope
        assert np.count_nonzero(gate[:-1]) == 1
        left = train.points[:, feature] <= threshold
        for side, value in zip((left, ~left), values, strict=True):
            sums = train.weights[side] @ train.targets[side]
            assert value == pytest.approx(leaf_values(sums, train.weights[side].sum(), link))
        paper, same = growing._Grower(train, train, link, SoftRules(init="paper", init_slope=slope), 0)._start(
            train.weights, 0
        )
        assert paper[-1] == 1.0
        assert np.array_equal(paper[:-1], gate[:-1])
        assert np.array_equal(same, values)
    random, _ = growing._Grower(train, train, link, SoftRules(init="random"), 0)._start(train.weights, 0)
    assert np.all(np.abs(random) <= 0.01)
    other, _ = growing._Grower(train, train, link, SoftRules(init="random"), 1)._start(train.weights, 0)
    assert not np.array_equal(random, other)


@pytest.mark.tiny
@links
def test_leaf_values_are_what_minimises_the_loss(link, monkeypatch):
    monkeypatch.setattr(growing, "PRIOR_ROWS", 0.0)
    data = rows(link)
    value = leaf_values(data.weights @ data.targets, data.weights.sum(), link)
    assert predict(value, link) == pytest.approx(np.average(data.targets, axis=0, weights=data.weights))

    def total(at):
        return sum(w * loss(at, y, link) for w, y in zip(data.weights, data.targets, strict=True))

    rng = np.random.default_rng(0)
    assert all(total(value) <= total(value + 0.1 * rng.normal(size=value.shape)) for _ in range(10))


@pytest.mark.tiny
def test_pure_leaves_have_finite_values():
    assert leaf_values(np.array([8.0]), 8.0, LOGISTIC) == pytest.approx([np.log(17)])
    pure = leaf_values(np.array([0.0, 8.0, 0.0]), 8.0, SOFTMAX)
    assert pure[1] - pure[0] == pytest.approx(np.log(17))
    assert pure.sum() == pytest.approx(0.0)


def test_descents_that_diverge_do_not_count():
    tree = grow(IDENTITY, learning_rate=1e12, max_iter=25, max_leaf_nodes=3)
    assert len(tree.left) > 1
    assert all(np.isfinite(array).all() for array in tree.arrays())
    assert tree.history[0]["learning_rate"] < 1e3


@pytest.mark.parametrize("link", [LOGISTIC, SOFTMAX])
def test_steps_that_are_too_long_leave_finite_trees(link):
    for step in (30.0, 1e4, 1e12):  # cross-entropy grows no faster than the step: what is bad is not kept
        tree = grow(link, learning_rate=step)
        assert all(np.isfinite(array).all() for array in tree.arrays())
        assert all(
            trial["validation_loss"] < trial["validation_loss_before"] for trial in tree.history if trial["kept"]
        )
    assert len(grow(link, learning_rate=30.0).left) > 1


def test_each_descent_has_half_the_learning_rate():
    def rates(**rules):
        trials = grow(SOFTMAX, **rules).history
        return {trial["learning_rate"] for trial in trials if "learning_rate" in trial}  # not of leaves without rows

    assert rates(max_leaf_nodes=None, n_learning_rates=5) <= {2.0**-k for k in range(5)}
    assert len(rates(max_leaf_nodes=None, n_learning_rates=5)) > 1
    assert rates(n_learning_rates=1) == {1.0}


@links
def test_training_rows_may_select(link):
    one, other = (grow(link, select=select, max_leaf_nodes=2) for select in ("training", "validation"))
    assert one.history[0]["train_loss"] <= other.history[0]["train_loss"]
    assert one.history[0]["validation_loss"] >= other.history[0]["validation_loss"]
    assert one.history[0]["kept"]
    whole = grow(link, select="training")
    kept = [trial["validation_loss"] for trial in whole.history if trial["kept"]]
    assert np.all(np.diff(kept) < 0)


@links
def test_passes_over_a_part_of_the_rows(link, monkeypatch):
    monkeypatch.setattr(growing, "PASS_ROWS", 40)
    monkeypatch.setattr(growing, "SELECT_ROWS", 30)
    tree = grow(link, n=150)
    kept = [trial for trial in tree.history if trial["kept"]]
    assert len(kept) > 1
    # the part chooses among descents, all validation rows decide what stays
    assert kept[-1]["validation_loss"] == pytest.approx(mean_loss(tree, rows(link, 150, seed=1), link))
    assert kept[-1]["validation_loss"] < 0.9 * kept[0]["validation_loss_before"]


@pytest.mark.tiny
@links
def test_seeds(link):
    one, same, other = (
        grow_soft_tree(
            rows(link), rows(link, seed=1), link, SoftRules(max_iter=3, max_leaf_nodes=3), seed,
            tree=lone_root(rows(link), link),
        ).arrays()
        for seed in (0, 0, 1)
    )  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[2], other[2])  # rows of unequal weight are drawn


@pytest.mark.tiny
def test_nothing_to_divide():
    for points, targets in (
        (np.zeros((6, 2)), np.arange(6.0)[:, None]),
        (np.arange(12.0).reshape(6, 2), np.ones((6, 1))),
        (np.zeros((1, 2)), np.ones((1, 1))),
    ):
        data = LearningSet(points, targets, np.ones(len(points)))
        for start in ("hard", "paper", "random"):
            tree = lone_root(data, IDENTITY)
            grow_soft_tree(data, data, IDENTITY, SoftRules(init=start), 0, tree=tree)
            assert len(tree.left) == 1
            assert tree.values[0] == pytest.approx(targets.mean(axis=0))


# ------------------------------------------------------------------ the joint pass


@pytest.mark.tiny
@links
def test_refining_keeps_the_best_pass(link):
    tree = grow(link, max_iter=2, max_leaf_nodes=4)
    before = mean_loss(tree, rows(link, seed=1), link)
    arrays = tree.arrays()
    losses = refined(tree, link, refine_max_iter=12, refine_learning_rate=0.05)
    assert losses[0] == pytest.approx(before)
    assert len(losses) == 13
    assert mean_loss(tree, rows(link, seed=1), link) == pytest.approx(min(losses))
    assert min(losses) < before
    assert np.array_equal(tree.arrays()[0], arrays[0])
    inner = arrays[0] >= 0
    assert np.array_equal(tree.arrays()[3][inner], arrays[3][inner])
    assert not tree.arrays()[2][~inner].any()


@pytest.mark.tiny
@links
@pytest.mark.parametrize("rate", [100.0, 1e300])
def test_refining_changes_nothing_if_no_pass_is_better(link, rate, monkeypatch):
    monkeypatch.setattr(refining, "N_ITER_NO_CHANGE", 3)
    tree = grow(link, max_leaf_nodes=4)
    before = tree.arrays()
    losses = refined(tree, link, refine_learning_rate=rate)
    assert not min(losses[1:]) < losses[0]
    assert len(losses) <= 1 + 3 * 3  # three times no better for three passes, with smaller and smaller rates
    for a, b in zip(before, tree.arrays(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.tiny
@links
def test_gates_that_penalties_make_constant_are_not_splits(link):
    assert len(grow(link, l1_regularization=100.0).left) == 1
    tree = grow(link, l1_regularization=0.01)
    losses = refined(tree, link, refine_learning_rate=0.1, refine_max_iter=5, l1_regularization=100.0)
    left, _, gates, _ = tree.arrays()
    for node in np.flatnonzero(left >= 0):
        children = tree.left[node], tree.right[node]
        assert gates[node, :-1].any() or any(left[child] >= 0 for child in children)
    assert mean_loss(tree, rows(link, seed=1), link) == pytest.approx(min(losses))


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(5))
def test_constant_gates_above_leaves_become_leaves(seed):
    whole = Tree.random(seed, n_leaves=8)
    rng = np.random.default_rng(seed)
    is_constant = (whole.left >= 0) & (rng.random(15) < 0.6)
    whole.gates[is_constant, :-1] = 0.0
    whole.gates[whole.left < 0] = 0.0
    tree = GrownTree(whole.left.tolist(), whole.right.tolist(), list(whole.gates), list(whole.values))
    tree.merge_constant_gates()
    less = Tree(*tree.arrays())
    for x in rng.normal(size=(5, 3)):
        assert less.output(x) == pytest.approx(whole.output(x))
    assert tree.n_leaves == np.sum(less.left < 0)
    for node in np.flatnonzero(less.left >= 0):
        has_leaves = less.left[less.left[node]] < 0 and less.left[less.right[node]] < 0
        assert less.gates[node, :-1].any() or not has_leaves
        assert min(less.left[node], less.right[node]) > node
    assert not less.gates[less.left < 0].any()
    constant = GrownTree([1, -1, -1], [2, -1, -1], [np.zeros(3)] * 3, [np.zeros(1), np.ones(1), np.zeros(1)])
    constant.merge_constant_gates()
    assert constant.left == [-1]
    assert constant.values[0] == pytest.approx([0.5])


@pytest.mark.tiny
@pytest.mark.parametrize("most", [1, 2, 7])
def test_refitted_values_are_those_of_least_squares(most):
    data = rows(IDENTITY)
    tree = lone_root(data, IDENTITY) if most == 1 else grow(IDENTITY, max_leaf_nodes=most)
    before = tree.arrays()
    leaves = before[0] < 0
    shares = np.array([Tree(*before).shares(x)[leaves] for x in data.points])
    # the old value of a leaf counts as rows that are there alone
    design = np.concatenate([np.sqrt(data.weights)[:, None] * shares, np.sqrt(OLD_VALUE_ROWS) * np.eye(leaves.sum())])
    wanted = np.concatenate(
        [np.sqrt(data.weights)[:, None] * data.targets, np.sqrt(OLD_VALUE_ROWS) * before[3][leaves]]
    )
    refit_values(tree, data)
    after = tree.arrays()
    assert after[3][leaves] == pytest.approx(np.linalg.lstsq(design, wanted)[0])
    assert np.array_equal(after[3][~leaves], before[3][~leaves])
    assert np.array_equal(after[2], before[2])
    if most > 1:
        assert mean_loss(tree, data, IDENTITY) < Tree(*before).loss(
            data.points, data.targets, data.weights, IDENTITY
        ) / data.weights.sum()  # fmt: skip


@pytest.mark.tiny
def test_a_lone_root_is_not_refined():
    root = lone_root(rows(IDENTITY), IDENTITY)
    assert refined(root, IDENTITY) == []
