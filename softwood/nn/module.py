"""A fitted tree or forest as a module, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softwood.core.parameters import check_choice, check_flag
from softwood.fitted import FittedModel
from softwood.nn.checks import read_points
from softwood.nn.trees import Trees
from softwood.trees.forest import SoftForest
from softwood.trees.gate_tables import Structure
from softwood.trees.gates import Gate
from softwood.trees.loops.layout import BIAS, BLEND_AT, KIND, MISSING_LEFT, N_GATE_NUMBERS, THRESHOLD, WIDTH
from softwood.trees.tree import SoftTree


class TreeModule(nn.Module):
    """A fitted tree or forest of any family as a module, made by `from_tree`; `to_tree` makes it a tree again.

    Parameters
    ----------
    trees : SoftTree or SoftForest
        The trees; `from_tree` also takes fitted models.
    train_gates : bool, default=True
        Whether the gates are trained. If False, only the values of the leaves are.
    output : {"prediction", "raw"}, default="prediction"
        Whether outputs are predictions, or the weighted sums of leaf values before the link. For trees with a softmax
        link, these are logits, as `torch.nn.functional.cross_entropy` expects them.
    device : torch.device or None, default=None
        Device of the parameters.
    dtype : torch.dtype or None, default=None
        Type of the parameters: float32 or float64 on CPU.

    Attributes
    ----------
    weight : parameter of shape (n_oblique, n_features) or None
        Weights of sigmoid, oblique and blended gates. None if the trees have none.
    bias : parameter of shape (n_oblique,) or None
        Biases of the same gates.
    threshold : parameter of shape (n_kernel,) or None
        Thresholds of kernel gates. None if the trees have none. The tests of blended gates stay as they are.
    width : parameter of shape (n_kernel,) or None
        Half-widths of kernel gates. A width below 0 counts as 0. The widths of blended gates stay as they are.
    value : parameter of shape (n_leaves, n_outputs)
        Values of the leaves.

    Notes
    -----
    Inputs have the shape (..., n_features): the columns of the tree, which are those of the model after categories have
    been encoded. Missing values are nan. Outputs are those of `SoftTree.predict` or `SoftForest.predict`,
    (..., n_outputs), or sums before the link.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.nn import TreeModule
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    >>> module = TreeModule.from_tree(model, dtype=torch.float64)
    >>> bool(abs(module(torch.tensor(X)).detach().numpy() - model.predict_proba(X)).max() < 1e-12)
    True
    """

    # parameters, or None
    weight: Any
    bias: Any
    threshold: Any
    width: Any
    value: nn.Parameter
    numbers: Tensor
    oblique_gates: Tensor
    kernel_gates: Tensor
    base: Tensor
    first_output: Tensor

    def __init__(
        self,
        trees: SoftTree | SoftForest,
        *,
        train_gates: bool = True,
        output: str = "prediction",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(trees, SoftTree | SoftForest):
            raise TypeError(f"TreeModule takes a SoftTree or SoftForest, got {type(trees).__name__}; see from_tree.")
        check_flag(self, "train_gates", train_gates)
        self.output = check_choice(self, "output", output, ("prediction", "raw"))
        if output == "raw" and isinstance(trees, SoftForest) and trees.link != "identity":
            raise ValueError("The trees of this forest are averaged after their link: there is no raw output.")
        self.in_features, self.out_features = trees.n_features, trees.n_outputs
        kind = torch.get_default_dtype() if dtype is None else dtype
        structure = Structure.of(trees)
        self.source, self.made_as = trees, kind
        self.trees = Trees(structure, dtype=kind)
        kinds = structure.table[:, KIND]
        for name, where in (("oblique_gates", kinds != Gate.KERNEL), ("kernel_gates", kinds == Gate.KERNEL)):
            self.register_buffer(name, torch.from_numpy(np.flatnonzero(where)), persistent=False)
        self.register_buffer("numbers", torch.from_numpy(_numbers(trees, structure, kind)).to(kind), persistent=False)
        for name, numbers in self._initial(kind).items():
            parameter = None if numbers is None else nn.Parameter(numbers, requires_grad=train_gates or name == "value")
            self.register_parameter(name, parameter)
        if isinstance(trees, SoftForest):
            self.register_buffer("base", torch.tensor(trees.base, dtype=kind), persistent=False)
            self.register_buffer("first_output", torch.tensor(trees.output, dtype=torch.int64), persistent=False)
        self.to(device)

    @classmethod
    def from_tree(
        cls,
        tree: Any,
        *,
        train_gates: bool = True,
        output: str = "prediction",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> TreeModule:
        """The module of a tree, a forest, or a fitted model that has one.

        Parameters
        ----------
        tree : SoftTree, SoftForest or fitted estimator
            The trees. If they test sets of categories, the module takes columns of zeros and ones in their place, as
            ``FittedModel.of(model).one_hot().encode(X)`` makes them.
        train_gates : bool, default=True
            Whether the gates are trained. If False, only the values of the leaves are.
        output : {"prediction", "raw"}, default="prediction"
            Whether outputs are predictions, or the weighted sums of leaf values before the link. For trees with a
            softmax link, these are logits, as `torch.nn.functional.cross_entropy` expects them.
        device : torch.device or None, default=None
            Device of the parameters.
        dtype : torch.dtype or None, default=None
            Type of the parameters: float32 or float64 on CPU.

        Returns
        -------
        TreeModule
            The module.
        """
        known = FittedModel.of(tree, "TreeModule.from_tree")
        found = known.trees if known.trees.subsets is None else known.one_hot().trees
        return cls(found, train_gates=train_gates, output=output, device=device, dtype=dtype)

    def _initial(self, kind: torch.dtype) -> dict[str, Tensor | None]:
        """Parameters of the trees that the module was made of, as it holds them."""
        trees, structure = self.source, self.trees.structure
        oblique = structure.gate_nodes[structure.table[:, KIND] != Gate.KERNEL]
        kernel = structure.gate_nodes[structure.table[:, KIND] == Gate.KERNEL]
        numbers = _numbers(trees, structure, kind)[structure.table[:, KIND] == Gate.KERNEL]
        weights = trees.weights
        found: dict[str, np.ndarray | None] = {
            "weight": weights[oblique] if len(oblique) and weights is not None else None,
            "bias": trees.bias[oblique] if len(oblique) else None,
            "threshold": numbers[:, THRESHOLD] if len(kernel) else None,
            "width": numbers[:, WIDTH] if len(kernel) else None,
            "value": trees.value[structure.leaf_nodes],
        }
        return {name: None if array is None else torch.tensor(array, dtype=kind) for name, array in found.items()}

    def forward(self, x: Tensor) -> Tensor:
        """Predictions for rows (..., n_features).

        Parameters
        ----------
        x : tensor of shape (..., n_features)
            The rows.

        Returns
        -------
        tensor of shape (..., n_outputs)
            Predictions, or sums before the link.
        """
        points = read_points(self, x, self.in_features, self.value)
        with torch.autocast(points.device.type, enabled=False):
            outputs = self._linked(self.trees(points, *self._arguments()))
        return outputs.reshape(*x.shape[:-1], self.out_features)

    def _arguments(self) -> tuple[Tensor, Tensor, Tensor]:
        columns = list(self.numbers.unbind(dim=1))
        weights = self.value.new_empty((0, self.in_features))
        if self.weight is not None:
            is_all = len(self.oblique_gates) == len(self.numbers)
            shape = (len(self.numbers), self.in_features)
            weights = self.weight if is_all else _placed(self.value.new_zeros(shape), self.oblique_gates, self.weight)
            columns[BIAS] = _placed(columns[BIAS], self.oblique_gates, self.bias)
        if self.threshold is not None:
            columns[THRESHOLD] = _placed(columns[THRESHOLD], self.kernel_gates, self.threshold)
            columns[WIDTH] = _placed(columns[WIDTH], self.kernel_gates, self.width.clamp(min=0.0))
        return weights, torch.stack(columns, dim=1), self.value

    def _linked(self, outputs: Tensor) -> Tensor:
        """From the sums of each tree, (n_rows, n_trees, n_values), to predictions, (n_rows, n_outputs)."""
        if self.source.link == "softmax" and self.output == "prediction":
            outputs = torch.softmax(outputs, dim=-1)
        if not isinstance(self.source, SoftForest):
            return outputs[:, 0]
        n_values = outputs.shape[2]
        if n_values == self.out_features:
            total = outputs.sum(dim=1)
        else:  # boosting with a tree per class
            columns = (self.first_output[:, None] + torch.arange(n_values, device=outputs.device)).flatten()
            total = outputs.new_zeros((outputs.shape[0], self.out_features)).index_add(1, columns, outputs.flatten(1))
        return self.base + self.source.factor * total

    def to_tree(self) -> SoftTree | SoftForest:
        """The trees with the parameters as they are now, a `SoftTree` or `SoftForest` like the one they came from.

        Numbers that have not been trained are those of the original, bit for bit, whatever the type of the parameters.
        If the values of leaves have changed, those of inner nodes are the means of their leaves, weighted by mass. Mass
        and impurity are those of the original.
        """
        trees, structure = self.source, self.trees.structure
        initial = self._initial(self.made_as)
        made = self._initial(torch.float64)
        now: dict[str, np.ndarray] = {}
        for name, start in initial.items():
            parameter, original = getattr(self, name), made[name]
            if parameter is None or start is None or original is None:
                continue
            held = parameter.detach().cpu()
            is_trained = held != start.to(held.dtype)
            now[name] = torch.where(is_trained, held.double(), original).numpy()
            if not np.isfinite(now[name]).all():
                raise ValueError(f"The parameter {name!r} of TreeModule has values that are not finite.")
        changes: dict[str, Any] = {}
        for name, column, gates in (
            ("weight", "weights", self.oblique_gates), ("bias", "bias", self.oblique_gates),
            ("threshold", "threshold", self.kernel_gates), ("width", "width", self.kernel_gates),
        ):  # fmt: skip
            if name in now:
                changes[column] = getattr(trees, column).copy()
                changes[column][structure.gate_nodes[gates.cpu().numpy()]] = now[name]
        if "width" in changes:
            changes["width"] = np.maximum(changes["width"], 0.0)
        changes["value"] = trees.value.copy()
        changes["value"][structure.leaf_nodes] = now["value"]
        if not np.array_equal(changes["value"], trees.value):
            _average_leaves(changes["value"], trees, structure)
        return replace(trees, **changes)

    def extra_repr(self) -> str:
        """The trees, for the printed form."""
        return f"{self.source!r}, output={self.output!r}"


def _placed(whole: Tensor, places: Tensor, part: Tensor) -> Tensor:
    """A copy with other numbers at some places of the first axis."""
    return whole.index_copy(0, places, part)


def _numbers(trees: SoftTree | SoftForest, structure: Structure, kind: torch.dtype) -> np.ndarray:
    """Numbers of all gates, see `softwood.trees.loops.layout`, (n_gates, 5) float64, for parameters of a type."""
    nodes = structure.gate_nodes
    numbers = np.zeros((len(nodes), N_GATE_NUMBERS))
    numbers[:, BIAS] = trees.bias[nodes]
    numbers[:, THRESHOLD] = np.nan_to_num(trees.threshold[nodes])
    numbers[:, WIDTH] = trees.width[nodes]
    numbers[:, BLEND_AT] = trees.blend[nodes]
    numbers[:, MISSING_LEFT] = trees.missing_left[nodes]
    if kind == torch.float32:
        # Rounded down, the threshold of a crisp test divides rows of float32 as the original does.
        threshold = numbers[:, THRESHOLD]
        rounded = threshold.astype(np.float32)
        lower = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
        is_crisp = (numbers[:, WIDTH] == 0) | (structure.table[:, KIND] == Gate.BLEND)
        numbers[:, THRESHOLD] = np.where(is_crisp, lower, threshold)
    return numbers


def _average_leaves(value: np.ndarray, trees: SoftTree | SoftForest, structure: Structure) -> None:
    """Fill in the values of inner nodes: means of both children, weighted by their mass if it is known."""
    offsets = trees.offsets if isinstance(trees, SoftForest) else np.array([0, trees.n_nodes])
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    for node in structure.gate_nodes[::-1]:
        sides = np.array([trees.children_left[node], trees.children_right[node]]) + begin[node]
        mass = trees.mass[sides]
        is_known = np.isfinite(mass).all() and mass.sum() > 0
        value[node] = np.average(value[sides], axis=0, weights=mass if is_known else None)
