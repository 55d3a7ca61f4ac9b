"""Room, widening, limits and state of growing trees: nothing of this changes what they learn."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from softwood.stream.growing import tree as growth
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.rows import NO_PREDICTIONS, OneRow
from softwood.stream.growing.soft import SoftClassTree
from softwood.stream.loops.layout import ADAPTIVE, N_NODES, OWNER, SLOT, SLOTS_ARE_ALL, Settings
from tests.reference.soft_stream import SoftStream, assert_same_arrays, growing, stream

KINDS = ["hoeffding class", "hoeffding real", "soft class", "soft real"]
kinds = pytest.mark.parametrize("kind", KINDS)


def new_tree(kind, limits=None, n_features=3, n_outputs=2, delta=0.9, **settings):
    """A tree that splits soon, for `stream`."""
    n_outputs = n_outputs if "class" in kind else 1
    limits = limits or Limits()
    if "soft" in kind:
        reference = SoftStream(
            n_features, n_outputs, "class" in kind, delta=delta, alpha_rate=0.01, grace=10, max_depth=6, **settings
        )
        return growing(reference, limits)
    values = Settings(
        grace_period=10.0, delta=delta, tau=0.05, max_depth=np.inf, max_share_to_split=0.99, learning_rate=0.05,
        model_selector_decay=0.95, leaf_prediction=ADAPTIVE,
    )  # fmt: skip
    return (HoeffdingClassTree if "class" in kind else HoeffdingRealTree)(values, limits, n_features, n_outputs)


def rows_for(kind, seed=0, n=300, missing=0.05):
    X, labels, targets, weights = stream(seed, n=n, missing=missing)
    return X, labels if "class" in kind else targets, weights


def learn(tree, rows, some=slice(None)):
    X, y, weights = (array[some] for array in rows)
    out = np.empty((len(X), tree.n_outputs))
    tree.learn(np.ascontiguousarray(X), y, weights, out)
    return out


def copied(tree):
    """All that a tree is, to see whether it has changed."""
    return copy.deepcopy(tree.arrays), tree.settings, list(tree.log), dict(tree._sizes)


def assert_unchanged(tree, before):
    arrays, settings, log, sizes = before
    for name, array in tree.arrays.items():
        assert np.array_equal(array, arrays[name], equal_nan=array.dtype.kind == "f"), name
    assert tree.settings == settings
    assert tree.log == log
    assert tree._sizes == sizes


# ------------------------------------------------------------------ room


@pytest.mark.tiny
@kinds
def test_the_first_room_changes_nothing(kind, monkeypatch):
    rows, trees, outs = rows_for(kind), [], []
    for room in (1, 8, 500):
        monkeypatch.setattr("softwood.stream.growing.arrays.FIRST_SIZE", room)
        monkeypatch.setattr("softwood.stream.growing.arrays.FIRST_EVENTS", 4 * room)
        trees.append(new_tree(kind))
        outs.append(learn(trees[-1], rows))
    assert trees[0].n_inner >= 5
    for tree, out in zip(trees[1:], outs[1:], strict=True):
        assert np.array_equal(out, outs[0])
        assert tree.log == trees[0].log
        assert_same_arrays(trees[0], tree)


@pytest.mark.tiny
@kinds
def test_parts_of_any_length_change_nothing(kind, monkeypatch):
    rows, whole, parts = rows_for(kind), new_tree(kind), new_tree(kind)
    expected = learn(whole, rows)
    monkeypatch.setattr(growth, "ROWS_PER_CALL", 7)
    assert np.array_equal(learn(parts, rows), expected)
    assert_same_arrays(whole, parts)


@kinds
def test_a_single_row_is_learned_as_in_a_block(kind):
    (X, y, weights), whole, single = rows_for(kind), new_tree(kind), new_tree(kind)
    whole.learn(X, y, weights, None)
    for i in range(len(X)):
        single.learn_row(OneRow(X[i : i + 1], y[i : i + 1], weights[i : i + 1].copy(), NO_PREDICTIONS))
    assert_same_arrays(whole, single)


@kinds
def test_weights_of_the_caller_are_left_alone(kind, monkeypatch):
    monkeypatch.setattr("softwood.stream.growing.arrays.FIRST_SIZE", 1)
    X, y, _ = rows_for(kind)
    weights = np.full(300, 2.5)
    new_tree(kind).learn(X, y, weights, None)
    assert (weights == 2.5).all()


def test_the_log_has_every_split_in_order():
    tree = new_tree("hoeffding class")
    learn(tree, rows_for("hoeffding class"))
    assert [event.kind for event in tree.log] == ["split"] * tree.n_inner
    assert sorted(event.n_samples for event in tree.log) == [event.n_samples for event in tree.log]
    nodes, numbers, inner = tree.structure()
    assert sorted(event.node for event in tree.log) == np.flatnonzero(inner).tolist()
    for event in tree.log:
        assert nodes[event.node, 3] == event.feature
        assert numbers[event.node, 0] == event.threshold
        assert event.merit - event.second_merit > event.bound or event.bound < 0.05


# ------------------------------------------------------------------ new features and classes


@pytest.mark.tiny
@kinds
def test_new_features_change_nothing_as_long_as_they_are_missing(kind):
    rows = rows_for(kind)
    tree, wide = new_tree(kind), new_tree(kind)
    learn(tree, rows, slice(150))
    learn(wide, rows, slice(150))
    wide.widen(5, wide.n_outputs)
    X = np.hstack([rows[0], np.full((300, 2), np.nan)])
    assert np.array_equal(tree.predict(rows[0]), wide.predict(X))
    if "soft" in kind:
        # Draws for the weights of new gates are one for each feature.
        tree.change_settings(max_inner=tree.n_inner)
        wide.change_settings(max_inner=tree.n_inner)
    assert np.array_equal(learn(tree, rows, slice(150, None)), learn(wide, (X, *rows[1:]), slice(150, None)))
    assert wide.log == tree.log


@kinds
def test_new_features_are_learned_from(kind):
    X, y, weights = rows_for(kind, n=400, missing=0.0)
    tree = new_tree(kind, n_features=1)
    learn(tree, (X[:, 1:2], y, weights), slice(200))
    tree.widen(3, tree.n_outputs)
    learn(tree, (X[:, [1, 0, 2]], y, weights), slice(200, None))
    assert 1 in {event.feature for event in tree.log}


@pytest.mark.tiny
def test_a_new_class_has_no_share_before_it_comes():
    rows = rows_for("hoeffding class")
    tree = new_tree("hoeffding class")
    learn(tree, rows)
    before = tree.predict(rows[0])
    tree.widen(3, 4)
    after = tree.predict(rows[0])
    assert np.array_equal(after[:, :2], before)
    assert not after[:, 2:].any()
    learn(tree, (rows[0], np.full(300, 3), rows[2]))
    assert tree.predict(rows[0])[:, 3].mean() > 0.3


@pytest.mark.tiny
def test_a_new_class_of_a_soft_tree_is_rare_and_leaves_the_odds_of_others():
    rows = rows_for("soft class")
    tree = new_tree("soft class")
    learn(tree, rows)
    before = tree.predict(rows[0])
    tree.widen(3, 3)
    after = tree.predict(rows[0])
    assert after[:, 0] / after[:, 1] == pytest.approx(before[:, 0] / before[:, 1])
    assert after[:, 2].max() < 0.05
    learn(tree, (rows[0], np.full(300, 2), np.ones(300)))
    assert tree.predict(rows[0])[:, 2].mean() > 0.5


@pytest.mark.tiny
@kinds
def test_a_new_category_was_0_in_earlier_rows(kind):
    """Statistics are those of a tree that had the column, with zeros, from the start."""
    X, y, weights = rows_for(kind, missing=0.0)
    X = np.column_stack([X[:, :2], 1.0 - X[:, 2], X[:, 2] * 0.0])
    trees = [new_tree(kind, n_features=n) for n in (3, 4)]
    for tree in trees:
        tree.change_settings(grace_period=np.inf)
        tree.arrays["is_category"][2:] = True
        learn(tree, (X[:, : tree.n_features], y, weights), slice(100))
    trees[0].widen(4, trees[0].n_outputs)
    trees[0].mark_category(3, 2)
    for name in ("stats", "is_category", *(["scaler"] if "scaler" in trees[0].arrays else [])):
        found, expected = trees[0].arrays[name], trees[1].arrays[name]
        if name == "stats" and "class" in kind:
            # Weight, mean, squares and ends: what is asked of a category.
            found, expected = found[..., :5], expected[..., :5]
        assert found == pytest.approx(expected), name


# ------------------------------------------------------------------ limits


@kinds
@pytest.mark.parametrize("max_bytes", [60_000, 150_000, 300_000])
def test_the_limit_of_memory_is_kept(kind, max_bytes):
    tree, free = new_tree(kind, Limits(max_bytes=max_bytes)), new_tree(kind)
    for seed in range(10):
        rows = rows_for(kind, seed, n=500)
        learn(tree, rows)
        learn(free, rows)
        assert tree.nbytes <= max_bytes
    assert tree.n_inner <= tree.settings.max_inner
    assert free.nbytes > 60_000
    # It uses what it has.
    assert tree.n_inner >= min(free.n_inner, tree.settings.max_inner, 2)
    assert tree.predict(rows[0]).shape == (500, tree.n_outputs)


@kinds
def test_the_limit_of_memory_is_kept_when_features_come(kind):
    X, y, weights = rows_for(kind, n=2000)
    tree = new_tree(kind, Limits(max_bytes=200_000))
    for k, part in enumerate(np.split(np.arange(2000), 8)):
        tree.widen(3 + k, tree.n_outputs)
        wide = np.hstack([X[part], np.random.default_rng(k).normal(size=(250, k))])
        learn(tree, (wide, y[part], weights[part]))
        assert tree.nbytes <= 200_000


@pytest.mark.tiny
def test_leaves_that_promise_little_give_up_their_statistics():
    tree = new_tree("hoeffding class")
    learn(tree, rows_for("hoeffding class"))
    before = tree.arrays["slots"][:, OWNER].copy()
    promise = tree._promise(np.maximum(before, 0))
    best = set(before[np.argsort(np.where(before >= 0, -promise, np.inf))[:4]].tolist())
    tree.limits = Limits(max_bytes=1)
    tree._apply_limits()
    owners = tree.arrays["slots"][:, OWNER]
    assert set(owners.tolist()) == best
    assert tree.arrays["counters"][SLOTS_ARE_ALL] == 1
    slots = tree.structure()[0][:, SLOT]
    assert np.flatnonzero(slots >= 0).tolist() == sorted(best)
    assert owners[slots[slots >= 0]].tolist() == np.flatnonzero(slots >= 0).tolist()
    learn(tree, rows_for("hoeffding class", 1))


@pytest.mark.tiny
@kinds
def test_the_smallest_limit_leaves_a_tree_that_works(kind):
    with pytest.warns(UserWarning, match="cannot be kept"):
        tree = new_tree(kind, Limits(max_bytes=1))
    rows = rows_for(kind)
    learn(tree, rows)
    assert tree.n_inner <= 1
    assert len(tree.arrays["nodes"]) == len(tree.arrays["slots"]) == 4
    assert np.isfinite(tree.predict(rows[0])).all()


@kinds
def test_the_limit_of_inner_nodes_is_kept(kind):
    tree = new_tree(kind, Limits(max_inner=4))
    learn(tree, rows_for(kind, n=600))
    assert tree.n_inner == 4


# ------------------------------------------------------------------ state


@pytest.mark.tiny
@kinds
def test_state_goes_on_bit_for_bit(kind):
    rows = rows_for(kind)
    tree, other = new_tree(kind), new_tree(kind)
    learn(tree, rows, slice(157))
    other.restore({name: array.copy() for name, array in tree.state().items()})
    assert other.log == tree.log
    assert np.array_equal(tree.predict(rows[0]), other.predict(rows[0]))
    assert np.array_equal(learn(tree, rows, slice(157, None)), learn(other, rows, slice(157, None)))
    assert_same_arrays(tree, other)
    assert other.log == tree.log


@kinds
def test_a_restored_tree_shares_no_memory(kind):
    tree, other = new_tree(kind), new_tree(kind)
    learn(tree, rows_for(kind), slice(100))
    other.restore(tree.state())
    before = copied(tree)
    learn(other, rows_for(kind), slice(100, None))
    assert_unchanged(tree, before)


@kinds
def test_pickles_go_on_bit_for_bit(kind):
    rows, tree = rows_for(kind), new_tree(kind)
    learn(tree, rows, slice(157))
    other = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(learn(tree, rows, slice(157, None)), learn(other, rows, slice(157, None)))
    assert_same_arrays(tree, other)
    assert other.log == tree.log


@pytest.mark.tiny
def test_a_complete_tree_can_be_restored():
    trees = [growing(SoftStream(3, 2, max_inner=0)) for _ in range(2)]
    assert isinstance(trees[0], SoftClassTree)
    for seed, tree in enumerate(trees):
        tree.complete(3, np.random.RandomState(seed))
    rows = rows_for("soft class")
    learn(trees[0], rows)
    trees[1].restore(trees[0].state())
    assert np.array_equal(learn(trees[0], rows), learn(trees[1], rows))


def damage(state, name, how):
    array = state[name].copy()
    if how == "missing":
        del state[name]
        return
    if how == "flat":
        array = array.ravel()[:1] if array.ndim > 1 else array[None]
    elif how == "short":
        array = array[:-1] if array.ndim == 1 else array[..., :-1]
    elif how == "type":
        array = np.zeros(array.shape, dtype=complex)
    elif how == "far":
        array.flat[-1 if name != "counters" else N_NODES] = 10**6
        if name == "nodes":
            array[0] = 10**6
    state[name] = array


ALWAYS = ["nodes", "numbers", "slots", "stats", "counters", "is_category"]
OWN = {
    "hoeffding class": ["counts", "keys"],
    "hoeffding real": ["models", "scaler"],
    "soft class": ["gates", "values", "gate_slopes", "value_slopes", "scaler", "target_scaler", "seen"],
    "soft real": [],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in ALWAYS + OWN[kind]])
@pytest.mark.parametrize("how", ["missing", "flat", "short", "type"])
def test_damaged_arrays_are_named_and_change_nothing(kind, name, how):
    tree, other = new_tree(kind), new_tree(kind)
    learn(tree, rows_for(kind), slice(100))
    learn(other, rows_for(kind, 1), slice(40))
    state, before = tree.state(), copied(other)
    damage(state, name, how)
    with pytest.raises(ValueError, match=f"'{name}'"):
        other.restore(state)
    assert_unchanged(other, before)
    learn(other, rows_for(kind), slice(40))


@kinds
@pytest.mark.parametrize(
    ("name", "how"),
    [("settings", "missing"), ("settings", "short"), ("log", "missing"), ("log", "flat"), ("log", "type")],
)
def test_damaged_settings_and_logs_change_nothing(kind, name, how):
    tree, other = new_tree(kind), new_tree(kind)
    learn(tree, rows_for(kind))
    state, before = tree.state(), copied(other)
    damage(state, name, how)
    with pytest.raises(ValueError, match=f"'{name}'"):
        other.restore(state)
    assert_unchanged(other, before)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in ("nodes", "slots", "counters")] + [("hoeffding class", "keys")],
)
def test_places_that_are_not_there_are_refused(kind, name):
    tree, other = new_tree(kind), new_tree(kind)
    learn(tree, rows_for(kind))
    state, before = tree.state(), copied(other)
    damage(state, name, "far")
    with pytest.raises(ValueError, match=f"'{name}'"):
        other.restore(state)
    assert_unchanged(other, before)


@kinds
def test_trees_without_rows_can_be_asked_and_saved(kind):
    tree = new_tree(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(tree.predict(np.zeros((2, 3)))).all()
        assert tree.snapshot().n_nodes == 1
        assert tree.importances().tolist() == [0.0, 0.0, 0.0]
    other = new_tree(kind)
    other.restore(tree.state())
    assert other.n_nodes == 1
