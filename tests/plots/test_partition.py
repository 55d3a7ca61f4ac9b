import numpy as np
import pytest

from softwood import Gate, KernelTreeClassifier, SoftTree
from softwood.datasets import toy_classification
from softwood.plots.partition import partition_lines

SQUARE = ((0.0, 1.0), (0.0, 1.0))
NAN = np.nan


def _stump(**columns):
    return SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], value=[0.5, 0.0, 1.0], n_features=3, **columns
    )


def _length(lines):
    return sum(np.hypot(*(line[1] - line[0])) for line in lines)


def test_a_split_on_a_third_feature_draws_nothing():
    stump = _stump(feature=[2, -1, -1], threshold=[0.5, NAN, NAN])
    assert partition_lines(stump, np.zeros(3), (0, 1), SQUARE) == []


def test_only_the_side_of_the_plane_is_followed():
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1], feature=[2, -1, 0, -1, -1],
        threshold=[0.5, NAN, 0.5, NAN, NAN], missing_left=[0.8, 0.5, 0.5, 0.5, 0.5], value=[0.0] * 5, n_features=3,
    )  # fmt: skip
    assert len(partition_lines(tree, np.array([0, 0, 1.0]), (0, 1), SQUARE)) == 1
    assert partition_lines(tree, np.array([0, 0, 0.0]), (0, 1), SQUARE) == []
    assert partition_lines(tree, np.array([0, 0, NAN]), (0, 1), SQUARE) == []  # most of it goes left


@pytest.mark.parametrize("gate", [Gate.SIGMOID, Gate.OBLIQUE, Gate.BLEND])
def test_oblique_gates_are_cut_along_their_line(gate):
    weights = np.zeros((3, 3))
    weights[0] = [1.0, 1.0, 1.0]
    stump = _stump(
        gate=[gate, -1, -1], feature=[0, -1, -1], threshold=[0.5, NAN, NAN], blend=[0.7, 0, 0], width=[1.0, 0, 0],
        weights=weights, bias=[-1.5, 0, 0],
    )  # fmt: skip
    (line,) = partition_lines(stump, np.array([0, 0, 0.5]), (0, 1), SQUARE)
    assert np.allclose(line.sum(axis=1), 1.0)  # x + y = 1
    assert np.isclose(_length([line]), np.sqrt(2))


def test_lines_separate_leaves():
    X, y = toy_classification("checkerboard", 200, random_state=0)
    tree = KernelTreeClassifier(bandwidth=0.05, prediction_kernel=None).fit(X, y).tree_
    lines = partition_lines(tree, np.zeros(2), (0, 1), ((-1, 1), (-1, 1)))
    assert len(lines) == tree.n_leaves - 1
    middle = np.array([line.mean(axis=0) for line in lines])
    across = np.array([[line[1, 1] - line[0, 1], line[0, 0] - line[1, 0]] for line in lines])
    step = 1e-9 * across / np.linalg.norm(across, axis=1, keepdims=True)
    assert np.all(tree.apply(middle + step) != tree.apply(middle - step))
