"""A layer of complete soft trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softwood.core.parameters import check_choice, check_count, check_number
from softwood.nn.checks import read_points
from softwood.nn.trees import Trees
from softwood.trees.forest import SoftForest
from softwood.trees.gate_tables import Structure, bound_kernels
from softwood.trees.gates import Gate
from softwood.trees.loops.layout import FEATURE
from softwood.trees.tree import SoftTree

KINDS = {"smooth_step": Gate.BLEND, "sigmoid": Gate.SIGMOID, "kernel": Gate.KERNEL}
DEEPEST = 16


class TreeLayer(nn.Module):
    """Complete soft trees as a layer, differentiable in its inputs and parameters.

    A row goes to both children of a gate, to each with a share. The output of a tree is the sum of its leaves' values,
    weighted by the shares of the row in the leaves. With gates that saturate ("smooth_step", "kernel") a row reaches
    few leaves, and on CPU only the gates that it reaches are computed, forward and backward.

    Smooth steps are 0 or 1, and have a gradient of 0, for inputs beyond ``gamma / 2``: standardise the inputs (for
    example with `torch.nn.BatchNorm1d`), or call `init_from_data`.

    Parameters
    ----------
    in_features : int
        Size of inputs.
    out_features : int
        Size of outputs.
    n_trees : int, default=1
        Number of trees.
    depth : int, default=5
        Depth of the trees, each of which has ``2 ** depth`` leaves.
    gate : {"smooth_step", "sigmoid", "kernel"}, default="smooth_step"
        "smooth_step" and "sigmoid" gates compare a weighted sum of the inputs with 0. "kernel" gates compare one input,
        which is drawn at random and stays, with a threshold.
    gamma : float, default=1.0
        Width of the smooth steps. The smaller it is, the fewer gates a row reaches.
    reduce : {"mean", "sum"} or None, default="mean"
        How the outputs of the trees are combined. None returns all of them.
    device : torch.device or None, default=None
        Device of the parameters.
    dtype : torch.dtype or None, default=None
        Type of the parameters: float32 or float64 on CPU.

    Attributes
    ----------
    weight : parameter of shape (n_trees, n_gates, in_features) or None
        Weights of the sums. None for kernel gates.
    bias : parameter of shape (n_trees, n_gates) or None
        Biases of the sums. None for kernel gates.
    threshold : parameter of shape (n_trees, n_gates) or None
        Thresholds of kernel gates. None for other gates.
    width : parameter of shape (n_trees, n_gates) or None
        Half-widths of kernel gates. None for other gates. A width below 0 counts as 0, a crisp test.
    feature : tensor of shape (n_trees, n_gates) or None
        Input of each kernel gate. None for other gates.
    value : parameter of shape (n_trees, n_leaves, out_features)
        Values of the leaves.

    Notes
    -----
    Inputs have the shape (..., in_features), outputs (..., out_features), or (..., n_trees, out_features) if ``reduce``
    is None. If an input of a gate is nan, half of the row goes to each side.

    Examples
    --------
    >>> import torch
    >>> from softwood.nn import TreeLayer
    >>> layer = TreeLayer(4, 3, n_trees=8, depth=4)
    >>> layer(torch.randn(32, 4)).shape
    torch.Size([32, 3])
    """

    # parameters, or None
    weight: Any
    bias: Any
    threshold: Any
    width: Any
    feature: Any
    value: nn.Parameter

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_trees: int = 1,
        depth: int = 5,
        gate: str = "smooth_step",
        gamma: float = 1.0,
        reduce: str | None = "mean",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check_count(self, "in_features", in_features)
        self.out_features = check_count(self, "out_features", out_features)
        self.n_trees = check_count(self, "n_trees", n_trees)
        self.depth = check_count(self, "depth", depth, high=DEEPEST)
        self.gate = check_choice(self, "gate", gate, tuple(KINDS))
        self.gamma = check_number(self, "gamma", gamma, low=0, open_low=True)
        self.reduce = None if reduce is None else check_choice(self, "reduce", reduce, ("mean", "sum"))
        n_gates = 2**self.depth - 1
        kind = torch.get_default_dtype() if dtype is None else dtype
        made: dict[str, Any] = {"device": device, "dtype": kind}
        is_kernel = gate == "kernel"
        for name, shape in (
            ("weight", None if is_kernel else (n_trees, n_gates, in_features)),
            ("bias", None if is_kernel else (n_trees, n_gates)),
            ("threshold", (n_trees, n_gates) if is_kernel else None),
            ("width", (n_trees, n_gates) if is_kernel else None),
            ("value", (n_trees, n_gates + 1, out_features)),
        ):
            self.register_parameter(name, None if shape is None else nn.Parameter(torch.empty(shape, **made)))
        self.register_buffer("feature", torch.zeros((n_trees, n_gates), dtype=torch.int64) if is_kernel else None)
        structure = Structure.complete(n_trees, self.depth, KINDS[gate])
        self.trees = Trees(structure, gamma=self.gamma if gate == "smooth_step" else None, dtype=kind)
        self.register_load_state_dict_post_hook(_update_features)
        self.reset_parameters()
        self.to(device)

    def reset_parameters(self) -> None:
        """Draw all parameters, for inputs of mean 0 and standard deviation 1, with torch's generator."""
        with torch.no_grad():
            if self.weight is not None:
                bound = 1.0 / math.sqrt(self.in_features)
                self.weight.uniform_(-bound, bound)
                self.bias.uniform_(-bound, bound)
            else:
                self.feature.random_(self.in_features)
                _update_features(self)
                self.threshold.uniform_(-1.0, 1.0)
                self.width.fill_(1.0)
            self.value.uniform_(-0.1, 0.1)

    def init_from_data(self, x: Tensor) -> None:
        """Draw the gates again so that they divide these rows: thresholds at quantiles, gates at unit scale.

        Weighted sums get a standard deviation of `gamma` (of 1 if they are sigmoids), and each gate compares them with
        one of the quantiles from 1/4 to 3/4. Thresholds of kernel gates are such quantiles of the inputs, and their
        widths the standard deviations.

        Parameters
        ----------
        x : tensor of shape (n_rows, in_features)
            The rows, nan where missing.
        """
        points = read_points(self, x, self.in_features, self.value).detach()
        if not len(points):
            raise ValueError("init_from_data needs at least one row.")
        with torch.no_grad():
            mean = torch.nan_to_num(points.nanmean(dim=0))
            known = torch.where(torch.isnan(points), mean, points)
            if not torch.isfinite(known).all():
                raise ValueError("init_from_data needs finite values; missing ones are nan.")
            self.reset_parameters()
            spread = known.std(dim=0, correction=0)
            rank = torch.empty((self.n_trees, 2**self.depth - 1), dtype=known.dtype, device=known.device)
            rank.uniform_(0.25, 0.75)
            if self.weight is None:
                self.threshold.copy_(_quantiles(known.t()[self.feature.reshape(-1)], rank))
                self.width.copy_(torch.where(spread > 0, spread, 1.0)[self.feature])
                return
            self.weight /= torch.where(spread > 0, spread, 1.0)
            sums = self.weight.reshape(-1, self.in_features) @ known.t()
            scale = sums.std(dim=1, correction=0)
            factor = (self.gamma if self.gate == "smooth_step" else 1.0) / torch.where(scale > 0, scale, 1.0)
            self.weight *= factor.reshape(self.n_trees, -1, 1)
            self.bias.copy_(-_quantiles(sums * factor[:, None], rank))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the trees for rows.

        Parameters
        ----------
        x : tensor of shape (..., in_features)
            The rows.

        Returns
        -------
        tensor of shape (..., out_features), or (..., n_trees, out_features)
            Outputs; those of all trees if `reduce` is None.
        """
        points = read_points(self, x, self.in_features, self.value)
        with torch.autocast(points.device.type, enabled=False):
            outputs = self.trees(points, *self._arguments())
            if self.reduce is not None:
                outputs = outputs.mean(dim=1) if self.reduce == "mean" else outputs.sum(dim=1)
        return outputs.reshape(*x.shape[:-1], *outputs.shape[1:])

    def _arguments(self) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, numbers and values of all trees, as `Trees` takes them."""
        value = self.value.flatten(0, 1)
        n_gates = self.n_trees * (2**self.depth - 1)
        zero, half = value.new_zeros(n_gates), value.new_full((n_gates,), 0.5)
        if self.weight is None:
            weights = value.new_empty((0, self.in_features))
            columns = (zero, self.threshold.flatten(), self.width.flatten().clamp(min=0.0), zero, half)
        else:
            weights = self.weight.flatten(0, 1)
            columns = (self.bias.flatten(), zero, zero + self.gamma, zero + 1.0, half)
        return weights, torch.stack(columns, dim=1), value

    def to_tree(self) -> SoftTree | SoftForest:
        """The trees as they are now: a `SoftTree` if there is one, else a `SoftForest`."""
        trees = [self._tree(number) for number in range(self.n_trees)]
        if self.n_trees == 1:
            return trees[0]
        if self.reduce is None:
            raise ValueError("A SoftForest is a mean or a sum of trees, and reduce is None.")
        if self.reduce == "mean":
            return SoftForest.mean(trees)
        return SoftForest.sum(trees, np.zeros(self.n_trees), np.zeros(self.out_features))

    def _tree(self, number: int) -> SoftTree:
        n_gates = 2**self.depth - 1
        node = np.arange(2 * n_gates + 1)
        inner = node < n_gates

        def on_gates(parameter: Tensor, rest: float = 0.0) -> np.ndarray:
            gates = parameter[number].detach().cpu().numpy().astype(np.float64)
            return np.concatenate([gates, np.full((n_gates + 1, *gates.shape[1:]), rest)])

        value = np.zeros((len(node), self.out_features))
        value[n_gates:] = self.value[number].detach().cpu().numpy()
        for gate in range(n_gates - 1, -1, -1):
            value[gate] = (value[2 * gate + 1] + value[2 * gate + 2]) / 2
        columns: dict[str, Any] = {"gate": np.where(inner, KINDS[self.gate], Gate.LEAF)}
        if self.weight is None:
            columns["feature"] = on_gates(self.feature, -1.0).astype(np.int32)
            columns["threshold"] = on_gates(self.threshold, np.nan)
            columns["width"] = np.maximum(on_gates(self.width), 0.0)
        else:
            columns |= {"weights": on_gates(self.weight), "bias": on_gates(self.bias)}
        if self.gate == "smooth_step":
            # A test of no weight stands beside the smooth step.
            columns |= {"feature": np.where(inner, 0, -1), "threshold": np.where(inner, 0.0, np.nan)}
            columns |= {"width": np.where(inner, self.gamma, 0.0), "blend": np.where(inner, 1.0, 0.0)}
        return SoftTree.from_nodes(
            children_left=np.where(inner, 2 * node + 1, -1), children_right=np.where(inner, 2 * node + 2, -1),
            value=value, n_features=self.in_features, **columns,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Parameters of the layer, for its printed form."""
        return (
            f"{self.in_features}, {self.out_features}, n_trees={self.n_trees}, depth={self.depth}, gate={self.gate!r}, "
            f"gamma={self.gamma}, reduce={self.reduce!r}"
        )


def _quantiles(rows: Tensor, rank: Tensor) -> Tensor:
    """For each line of a matrix, the value at a rank from 0 to 1; `rank` has the shape of the result."""
    ordered = rows.sort(dim=1).values
    at = (rank.reshape(-1, 1) * (ordered.shape[1] - 1)).round().long()
    return ordered.gather(1, at).reshape(rank.shape)


def _update_features(layer: Any, *args: Any) -> None:
    """Kernel gates bound one another if they test the same feature: the structure follows the buffer of features."""
    if layer.feature is None:
        return
    table = layer.trees.structure.table
    table[:, FEATURE] = layer.feature.detach().cpu().numpy().ravel()
    bound_kernels(table)
    layer.trees.table.copy_(torch.from_numpy(table))
