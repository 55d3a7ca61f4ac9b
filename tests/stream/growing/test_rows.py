"""Rows as the compiled loops take them: memory in any order, copies, wrong types."""

import copy
import pickle

import numpy as np
import pytest

from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    StreamForestClassifier,
    StreamForestRegressor,
)
from softwood.stream.growing.rows import NO_PREDICTIONS, OneRow

MODELS = [
    HoeffdingTreeClassifier, HoeffdingTreeRegressor, SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor,
    StreamForestClassifier, StreamForestRegressor,
]  # fmt: skip
models = pytest.mark.parametrize("kind", MODELS, ids=[kind.__name__ for kind in MODELS])


def rows(kind, n=120):
    table = np.random.default_rng(0).random((n, 8))
    y = table[:, 0] + table[:, 1]
    return table, (y > 1).astype(np.int64) if "Classifier" in kind.__name__ else y


@models
def test_the_order_in_memory_makes_no_difference(kind):
    table, y = rows(kind)
    seed = {} if kind.__name__[:13] == "HoeffdingTree" else {"random_state": 0}
    plain, other = kind(**seed), kind(**seed)
    plain.fit(table[:, :4].copy(), y, sample_weight=table[:, 5].copy())
    other.fit(np.asfortranarray(table)[:, :4], np.column_stack([y, y])[:, 1], sample_weight=table[:, 5])
    expected = plain.growth_.predict(table[:, :4].copy())
    assert np.array_equal(other.growth_.predict(table[:, :4]), expected)
    assert np.array_equal(other.growth_.predict(np.asfortranarray(table[:, :4])), expected)
    assert np.array_equal(
        other.growth_.input_gradient(np.asfortranarray(table[:, :4])),
        plain.growth_.input_gradient(table[:, :4].copy()),
    )


@models
def test_a_single_row_is_predicted_as_in_a_block(kind):
    table, y = rows(kind)
    growth = kind().fit(table, y).growth_
    row = OneRow.empty(8, growth.n_outputs, is_class=growth.classifies)
    for values, expected in zip(table[:20], growth.predict(table[:20]), strict=True):
        row.values[:] = values
        growth.predict_row(row)
        assert row.outputs.tolist() == expected.tolist()


@models
def test_trees_refuse_targets_of_another_type(kind):
    table, y = rows(kind)
    model = kind().fit(table, y)
    before = pickle.dumps(model.growth_)
    wrong = y.astype(float) if y.dtype == np.int64 else (y > 1).astype(np.int64)
    trees = getattr(model.growth_, "trees", [model.growth_])
    for tree in trees:
        with pytest.raises(ValueError, match="dtype"):
            tree.learn(table, wrong, np.ones(len(table)), None)
    assert pickle.dumps(model.growth_) == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda row: pickle.loads(pickle.dumps(row))], ids=["copy", "pickle"])
@pytest.mark.parametrize("is_class", [True, False])
def test_copies_of_a_row_have_arrays_of_their_own(copied, is_class):
    row = OneRow(np.ones((1, 2)), np.ones(1, np.int64 if is_class else float), np.ones(1), NO_PREDICTIONS)
    other = copied(row)
    row.values[:] = 7.0
    assert other.points.tolist() == [[1.0, 1.0]]
    other.values[:] = 5.0
    assert other.points.tolist() == [[5.0, 5.0]]
    assert other.targets.dtype == row.targets.dtype
    assert len(other.outputs) == 0
