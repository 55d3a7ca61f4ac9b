"""ONNX: trees of crisp tests as one operator, all others level by level with standard operators.

At each level of all trees of a chunk, the shares of the rows are a matrix with a row per node. Each gate's part of
the share goes left, the rest goes right; the shares of
leaves times their values are added up. `softwood.export.onnx_gates` has the parts of the gates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.extras import require
from softwood.core.parameters import check_choice, check_flag
from softwood.export.onnx_builder import Builder
from softwood.export.onnx_gates import parts_of_level
from softwood.export.onnx_inputs import read_inputs
from softwood.export.onnx_trees import add_tree_operator, is_for_tree_operator
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest

# Trees are cut into chunks of about this many leaves, one after the other, so that memory does not grow with the
# number of trees: a chunk needs about 40 bytes for each row and leaf.
CHUNK_LEAVES = 1024
# Above these sizes the graph is refused: one level of a single tree would need 1 GB for 1 000 rows.
MAX_TREE_LEAVES, MAX_NODES = 20_000, 500_000
# Of exponents in float32 and float64.
LARGEST_LOG = {np.dtype(np.float32): 88.0, np.dtype(np.float64): 709.0}


def to_onnx(model: Any, *, dtype: str = "float64", has_missing: bool = True, ml_opset: int = 5) -> Any:
    """An ONNX model that predicts as the model does.

    Its input is ``X``, a matrix with a column for each column of the table, NaN where missing. If a column holds
    categories that are text, every column is an input of its own, with its name and the shape (n_rows, 1), and ""
    is a missing category. The outputs are ``probabilities`` and ``label``, or ``prediction``.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.
    dtype : {"float64", "float32"}, default="float64"
        Type of inputs, constants and predictions. In float32, thresholds are rounded as the inputs are, so a value on a
        threshold stays there.
    has_missing : bool, default=True
        Whether rows may have missing values. If False, crisp trees become one ``TreeEnsemble`` operator, which
        otherwise happens only if missing values go to one side as a whole.
    ml_opset : {5, 3}, default=5
        3 is for runtimes without the ``TreeEnsemble`` operator (onnxruntime before 1.21): crisp trees then become a
        ``TreeEnsembleRegressor``, whose predictions are in single precision.

    Returns
    -------
    onnx.ModelProto
        The model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_onnx
    >>> model = KernelTreeClassifier(bandwidth=0.1, max_depth=2).fit(*load_iris(return_X_y=True))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    require("onnx", "onnx", "Exporting to ONNX")
    check_choice("to_onnx", "dtype", dtype, ("float32", "float64"))
    check_flag("to_onnx", "has_missing", has_missing)
    if ml_opset not in (3, 5):
        raise ValueError(f"The 'ml_opset' parameter of to_onnx must be 3 or 5. Got {ml_opset!r} instead.")
    known = FittedModel.of(model, "to_onnx").portable().one_hot()
    forest = known.forest
    builder = Builder(np.dtype(dtype))
    points = read_inputs(builder, known)
    if is_for_tree_operator(known, has_missing):
        scores = add_tree_operator(builder, forest, points, ml_opset)
    else:
        _check_size(forest)
        scores = _add_levels(builder, known, points, has_missing)
        scores = builder.op("Add", scores, builder.row(forest.base))
    _add_outputs(builder, known, _link(builder, known, scores))
    return builder.model(f"{known.kind} of softwood", ml_opset)


def _check_size(forest: SoftForest) -> None:
    n_leaves = np.add.reduceat(forest.children_left < 0, forest.offsets[:-1])
    if n_leaves.max() > MAX_TREE_LEAVES:
        raise ValueError(
            f"to_onnx takes trees of up to {MAX_TREE_LEAVES:,} leaves, for the graph holds the share of every row in "
            f"every leaf at once. Got {n_leaves.max():,} leaves; prune the tree, or export it with to_c."
        )
    if forest.n_nodes > MAX_NODES:
        raise ValueError(
            f"to_onnx takes up to {MAX_NODES:,} nodes. Got {forest.n_nodes:,}; use fewer trees, or export with to_c."
        )


def chunks(forest: SoftForest) -> list[range]:
    """Numbers of the trees of each chunk."""
    leaves = np.add.reduceat(forest.children_left < 0, forest.offsets[:-1])
    out, begin, total = [], 0, 0
    for tree, n in enumerate(leaves.tolist()):
        if total > 0 and total + n > CHUNK_LEAVES:
            out.append(range(begin, tree))
            begin, total = tree, 0
        total += n
    return [*out, range(begin, len(leaves))]


def _add_levels(builder: Builder, known: FittedModel, points: str, has_missing: bool) -> str:
    """Sum or mean of the predictions of all trees, (n_rows, n_scores), chunk by chunk."""
    total: str | None = None
    turned = builder.op("Transpose", points, perm=[1, 0])
    for trees in chunks(known.forest):
        found = _add_chunk(builder, known, trees, turned, has_missing)
        total = found if total is None else builder.op("Add", total, found)
    assert total is not None
    total = builder.op("Transpose", total, perm=[1, 0])
    if np.all(known.forest.children_left < 0):  # nothing depends on the rows, but there is a prediction for each
        n_rows = builder.op("Slice", builder.op("Shape", points), builder.integers([0]), builder.integers([1]))
        shape = builder.op("Concat", n_rows, builder.integers([known.forest.n_outputs]), axis=0)
        total = builder.op("Expand", total, shape)
    return total


def _add_chunk(builder: Builder, known: FittedModel, trees: range, points: str, has_missing: bool) -> str:
    """Sum of the predictions of some trees times the factor of the mean, (n_scores, n_rows).

    The factor is in the values where it can be: onnxruntime fuses a product with a number into the operator before it,
    and keeps the number in float32.
    """
    forest = known.forest
    q, n_scores, per_tree = forest.value.shape[1], forest.n_outputs, forest.link != "identity"
    tree_of = np.repeat(np.arange(len(forest)), forest.sizes)
    level = forest.offsets[trees.start : trees.stop]
    shares = builder.column(np.ones(len(level)))
    total: str | None = None
    while len(level):
        is_leaf = forest.children_left[level] < 0
        leaves, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)
        if len(leaves):
            nodes = level[leaves]
            first = (tree_of[nodes] - trees.start) * q if per_tree else forest.output[tree_of[nodes]]
            values = np.zeros((len(nodes), len(trees) * q if per_tree else n_scores))
            factor = 1.0 if per_tree else forest.factor
            values[np.arange(len(nodes))[:, None], first[:, None] + np.arange(q)] = forest.value[nodes] * factor
            own = shares if len(leaves) == len(level) else builder.gather(shares, leaves, axis=0)
            added = builder.op("MatMul", builder.constant(values.T), own)
            total = added if total is None else builder.op("Add", total, added)
        if not len(inner):
            break
        nodes, parts = parts_of_level(builder, known, level[inner], points, has_missing)
        place = {node: k for k, node in enumerate(level.tolist())}
        own = builder.gather(shares, [place[node] for node in nodes.tolist()], axis=0)
        left = builder.op("Mul", own, parts)
        right = builder.op("Sub", own, left)
        shares = builder.op("Concat", left, right, axis=0)
        begin = forest._begin[nodes]
        level = np.concatenate([forest.children_left[nodes] + begin, forest.children_right[nodes] + begin])
    assert total is not None
    if not per_tree:
        return total
    by_tree = builder.op("Reshape", total, builder.integers([len(trees), q, -1]))
    shared = builder.op("Mul", builder.op("Softmax", by_tree, axis=1), builder.number(forest.factor))
    return builder.op("ReduceSum", shared, builder.integers([0]), keepdims=0)


def _link(builder: Builder, known: FittedModel, scores: str) -> str:
    if known.link == "logistic":
        negative = builder.op("Sigmoid", builder.op("Neg", scores))
        return builder.op("Concat", negative, builder.op("Sigmoid", scores), axis=1)
    if known.link == "softmax":
        return builder.op("Softmax", scores, axis=1)
    if known.link == "exp":
        return builder.op("Exp", builder.op("Min", scores, builder.number(LARGEST_LOG[builder.dtype])))
    return scores


def _add_outputs(builder: Builder, known: FittedModel, predictions: str) -> None:
    if known.classes is None:
        builder.output("prediction", predictions, builder.dtype, known.n_outputs)
        return
    best = builder.op("ArgMax", predictions, axis=1, keepdims=0)
    kinds = {type(label) for label in known.classes}
    types: dict[type, type] = {int: np.int64, bool: np.bool_, float: np.float64}
    if len(kinds) == 1 and kinds <= set(types):
        labels: np.ndarray = np.array(known.classes, dtype=types[kinds.pop()])
    else:
        labels = np.array([str(label) for label in known.classes], dtype=object)
    builder.output("label", builder.op("Gather", builder.array(labels), best, axis=0), labels.dtype, None)
    builder.output("probabilities", predictions, builder.dtype, known.n_outputs)
