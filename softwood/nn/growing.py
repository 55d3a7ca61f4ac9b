"""The soft Hoeffding tree as a layer that grows while it is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softwood.core.parameters import check_choice, check_count
from softwood.nn.checks import read_points
from softwood.nn.enlarging import add_parameter, group_of
from softwood.nn.operators import reached_nodes
from softwood.nn.trees import Trees
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.events import SplitEvent
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.loops.layout import ALPHA_AT, EVENT, FIRST_WEIGHT, INFO_GAIN, LEFT_WEIGHT, THRESHOLD, WEIGHT
from softwood.stream.loops.layout import FEATURE as NODE_FEATURE
from softwood.stream.loops.layout import LEFT as NODE_LEFT
from softwood.stream.loops.layout import RIGHT as NODE_RIGHT
from softwood.stream.settings import read_settings
from softwood.trees.gate_tables import Structure
from softwood.trees.gates import Gate
from softwood.trees.loops.layout import FEATURE, KIND, LEFT, LOWER, N_COLUMNS, RIGHT, SHAPE, UPPER
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree

MIN_BRANCH_FRACTION = 0.01


class GrowingTreeLayer(nn.Module):
    """The soft Hoeffding tree as a layer that grows (SoHoT; Köbschall, Hartung and Kramer 2024).

    A gate sends the share ``alpha * S(w @ z) + (1 - alpha) * [x[feature] <= threshold]`` of a row to the left, where
    `S` is the smooth step of width `gamma` and `z` the row standardised by running means and deviations. The output is
    the sum of the leaves' values weighted by the shares of the row. The layer begins as a single leaf. In training,
    ``layer(x, target)`` adds the rows to the statistics of the leaves that they reach, and `grow`, called between the
    steps of the optimiser, splits the leaves whose best test is good enough by Hoeffding's bound.

    Each gate and each leaf is a parameter of its own. In training, those that a batch does not reach get no gradient,
    so that optimisers leave them and their moments alone. The defaults are those of the paper, which trains on single
    rows.

    Parameters
    ----------
    in_features : int
        Size of inputs.
    out_features : int
        Number of classes, or 1 for a real target. The outputs for classes are logits, as
        `torch.nn.functional.cross_entropy` expects them.
    task : {"classification", "regression"}, default="classification"
        What the tests are chosen for.
    max_depth : int, default=7
        Largest depth of the tree.
    alpha : float, default=0.3
        Weight of the smooth step in a gate.
    gamma : float, default=1.0
        Width of the smooth step.
    grace_period : float, default=200
        Weight that a leaf must receive between two attempts to split it.
    delta : float, default=1e-07
        Allowed probability that the chosen split is not the best one.
    tau : float, default=0.05
        A leaf is split even without a clear winner once the Hoeffding bound is below this value.
    min_share : float, default=0.25
        A row enters the statistics of a leaf only if its share is larger than this (epsilon_s in the paper).
    weigh_by_share : bool, default=False
        Whether a row enters the statistics weighted by its share, or with its full weight.
    leaf_init : float, default=0.1
        How far the values of two new leaves are moved towards the class frequencies on their sides of the test. With 0,
        both start with the value of their parent.
    device : torch.device or None, default=None
        Device of the parameters. Statistics are kept on CPU, in float64.
    dtype : torch.dtype or None, default=None
        Type of the parameters: float32 or float64 on CPU.

    Attributes
    ----------
    weights : torch.nn.ParameterList
        Weights of standardised inputs (in_features,), for each gate. New gates are added at the end.
    values : torch.nn.ParameterList
        Outputs (out_features,), for each leaf. Of two new leaves the left one keeps the parameter of their parent, and
        the right one is added at the end.
    log : list of SplitEvent
        Splits so far.

    Examples
    --------
    >>> import torch
    >>> from softwood.nn import GrowingTreeLayer
    >>> from softwood.stream import SEA
    >>> X, y = map(torch.tensor, SEA(seed=0).take(8_000))
    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <torch...>
    >>> layer = GrowingTreeLayer(3, 2, dtype=torch.float64)
    >>> optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    >>> for rows in torch.arange(len(X)).split(16):
    ...     loss = torch.nn.functional.cross_entropy(layer(X[rows], y[rows]), y[rows])
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    ...     events = layer.grow(optimizer)
    >>> len(layer.log) == len(layer.weights) >= 1
    True
    """

    mean: Tensor
    inverse_deviation: Tensor
    numbers: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        task: str = "classification",
        max_depth: int = 7,
        alpha: float = 0.3,
        gamma: float = 1.0,
        grace_period: float = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        min_share: float = 0.25,
        weigh_by_share: bool = False,
        leaf_init: float = 0.1,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check_count(self, "in_features", in_features)
        self.out_features = check_count(self, "out_features", out_features)
        self.task = check_choice(self, "task", task, ("classification", "regression"))
        if task == "regression" and out_features != 1:
            raise ValueError(f"A GrowingTreeLayer for regression has out_features=1, got {out_features}.")
        parameters = {
            "alpha": alpha, "gamma": gamma, "grace_period": grace_period, "delta": delta, "tau": tau,
            "min_share": min_share, "weigh_by_share": weigh_by_share, "leaf_init": leaf_init,
        }  # fmt: skip
        settings = read_settings(
            self, parameters, max_depth=check_count(self, "max_depth", max_depth, low=0), max_share_to_split=1.0,
            split_criterion=INFO_GAIN, min_branch_fraction=MIN_BRANCH_FRACTION, scaler_memory=np.inf,
            recheck_period=np.inf, batch_size=2.0,
        )  # fmt: skip
        self._limits = Limits() if max_depth > 0 else Limits(max_inner=0)
        kind = SoftClassTree if task == "classification" else SoftRealTree
        self._growth = kind(settings, self._limits, self.in_features, self.out_features)
        if task == "regression":  # values are in the units of the target
            self._growth.arrays["target_scaler"][1:4, 0] = (0.0, 1.0, 1.0)
        self._growth.seed = np.uint64(torch.randint(2**31, ()).item())
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weights = nn.ParameterList()
        self.values = nn.ParameterList([nn.Parameter(torch.zeros(self.out_features, **made))])
        for name in ("mean", "inverse_deviation", "numbers"):
            self.register_buffer(name, None, persistent=False)
        # Nodes of the growing tree that the lines of the parameters belong to.
        self._gate_nodes, self._leaf_nodes = np.empty(0, np.int64), np.zeros(1, np.int64)
        self._rebuild()
        self.register_load_state_dict_pre_hook(_prepare_load)

    @property
    def log(self) -> list[SplitEvent]:
        """Splits so far, oldest first."""
        return list(self._growth.log)

    @property
    def _like(self) -> Tensor:
        """A tensor of the type and on the device of the parameters."""
        return self.values[0]

    # Computing

    def forward(self, x: Tensor, target: Tensor | None = None) -> Tensor:
        """Outputs for rows.

        Parameters
        ----------
        x : tensor of shape (..., in_features)
            The rows.
        target : tensor of shape (...) or None, default=None
            Classes from 0 on, or real targets. In training mode the rows enter the statistics with them; without
            targets they enter only the running means and deviations. In evaluation mode nothing changes.

        Returns
        -------
        tensor of shape (..., out_features)
            Outputs.
        """
        points = read_points(self, x, self.in_features, self._like)
        seen = None if target is None else self._read_target(target, x)
        with torch.autocast(points.device.type, enabled=False):
            outputs = self.trees(points, *self._arguments(points))[:, 0]
        if self.training and len(points):
            self._observe(points, seen)
        return outputs.reshape(*x.shape[:-1], self.out_features)

    def _arguments(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, numbers and values, as `Trees` takes them; in training only what the rows reach has a gradient."""
        weights, value = self._stacked()
        if self.training and torch.is_grad_enabled():
            weights, value = self._reached(points, weights.detach(), value.detach())
        weights = weights * self.inverse_deviation
        return weights, self._gate_numbers(weights), value

    def _stacked(self) -> tuple[Tensor, Tensor]:
        none = self._like.new_empty((0, self.in_features))
        return torch.stack(list(self.weights)) if len(self.weights) else none, torch.stack(list(self.values))

    def _gate_numbers(self, weights: Tensor) -> Tensor:
        return torch.cat([-(weights @ self.mean)[:, None], self.numbers], dim=1)

    @torch.compiler.disable
    def _reached(self, points: Tensor, weights: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Replace what the rows reach by the parameters, which have a gradient."""
        scaled = weights * self.inverse_deviation
        inputs = [tensor.cpu() for tensor in (points.detach(), scaled, self._gate_numbers(scaled))]
        structure = tuple(part.cpu() if isinstance(part, Tensor) else part for part in self.trees.arguments())
        gates, leaves = reached_nodes(inputs[0], inputs[1], inputs[2], structure)
        if len(gates):
            own = torch.stack([self.weights[gate] for gate in gates])
            weights = weights.index_copy(0, torch.from_numpy(gates).to(points.device), own)
        if len(leaves):
            own = torch.stack([self.values[leaf] for leaf in leaves])
            value = value.index_copy(0, torch.from_numpy(leaves).to(points.device), own)
        return weights, value

    def _read_target(self, target: Tensor, x: Tensor) -> Tensor:
        if not isinstance(target, Tensor) or target.numel() != x[..., 0].numel():
            shape = tuple(target.shape) if isinstance(target, Tensor) else type(target).__name__
            raise ValueError(f"target must have the shape {tuple(x.shape[:-1])}, got {shape}.")
        flat = target.detach().reshape(-1)
        if self.task == "regression":
            if not flat.is_floating_point() or not torch.isfinite(flat).all():
                raise ValueError(
                    "The targets of a GrowingTreeLayer for regression must be finite floating-point numbers."
                )
        elif flat.is_floating_point() or flat.is_complex():
            raise ValueError(
                f"The targets of a GrowingTreeLayer for classification must be whole numbers, got {flat.dtype}."
            )
        elif len(flat) and not 0 <= int(flat.min()) <= int(flat.max()) < self.out_features:
            raise ValueError(f"Classes must be in the range [0, {self.out_features}), got {flat.tolist()[:10]} ...")
        return flat

    @torch.compiler.disable
    def _observe(self, points: Tensor, target: Tensor | None) -> None:
        rows = points.detach().cpu().double().contiguous().numpy()
        kind = np.int64 if self.task == "classification" else np.float64
        with torch.no_grad():
            self._growth.arrays["gates"][0, self._gate_nodes, FIRST_WEIGHT:] = self._stacked()[0].cpu().numpy()
        self._growth.observe_rows(rows, None if target is None else target.cpu().numpy().astype(kind))
        self._read_numbers()

    # Growing

    def grow(self, optimizer: torch.optim.Optimizer | None) -> list[SplitEvent]:
        """Split the leaves whose best test is good enough; call it after a step of the optimiser.

        Parameters
        ----------
        optimizer : torch.optim.Optimizer or None
            The optimiser that trains the layer, which gets the new parameters. Its state of old parameters, such as
            moments, does not change. New gates start without a state, and both new leaves with a copy of the state of
            the leaf that was split. None if there is none.

        Returns
        -------
        list of SplitEvent
            What was split.
        """
        group = None
        if optimizer is not None:
            group = group_of(optimizer, [*self.values, *self.weights])
            if group is None:
                raise ValueError("The optimizer given to grow() has none of the parameters of this layer.")
        if not self._growth.is_split_due():
            return []
        self._write_parameters()
        events = self._growth.split_leaves()
        arrays = self._growth.arrays
        for event in events:
            left, right = arrays["nodes"][event.node, [NODE_LEFT, NODE_RIGHT]]
            line = int(np.flatnonzero(self._leaf_nodes == event.node)[0])
            old = self.values[line]
            with torch.no_grad():
                old.copy_(torch.from_numpy(arrays["values"][0, left]))
            gate = nn.Parameter(torch.tensor(arrays["gates"][0, event.node, FIRST_WEIGHT:]).to(old.detach()))
            leaf = nn.Parameter(torch.tensor(arrays["values"][0, right]).to(old.detach()), old.requires_grad)
            self.weights.append(gate)
            self.values.append(leaf)
            if optimizer is not None and group is not None:
                add_parameter(optimizer, group, gate, None, list(self.parameters()))
                add_parameter(optimizer, group, leaf, old, list(self.parameters()))
            self._leaf_nodes[line] = left
            self._leaf_nodes = np.append(self._leaf_nodes, right)
            self._gate_nodes = np.append(self._gate_nodes, event.node)
        if events:
            self._rebuild()
        return events

    def _write_parameters(self) -> None:
        """Copy the current parameters to the growing tree."""
        arrays = self._growth.arrays
        with torch.no_grad():
            weights, value = self._stacked()
        arrays["gates"][0, self._gate_nodes, FIRST_WEIGHT:] = weights.cpu().numpy()
        arrays["values"][0, self._leaf_nodes] = value.cpu().numpy()

    def _rebuild(self) -> None:
        """Structure and numbers of the gates, from the growing tree."""
        nodes, _, _ = self._growth.structure()
        code = np.zeros(len(nodes), np.int64)
        code[self._gate_nodes] = np.arange(len(self._gate_nodes))
        code[self._leaf_nodes] = -1 - np.arange(len(self._leaf_nodes))
        table = np.full((len(self._gate_nodes), N_COLUMNS), -1, np.int64)
        inner = nodes[self._gate_nodes]
        table[:, LEFT], table[:, RIGHT] = code[inner[:, NODE_LEFT]], code[inner[:, NODE_RIGHT]]
        table[:, KIND], table[:, FEATURE], table[:, SHAPE] = Gate.BLEND, inner[:, NODE_FEATURE], 0
        table[:, [UPPER, LOWER]] = -1
        gates, leaves = (np.array([0, len(part)], np.int64) for part in (self._gate_nodes, self._leaf_nodes))
        structure = Structure(table, gates, leaves, KernelShapes.box(), self._gate_nodes, self._leaf_nodes)
        self.trees = Trees(structure, dtype=self._like.dtype).to(self._like.device)
        self._read_numbers()

    def _read_numbers(self) -> None:
        """Fixed numbers of the gates, and running ones of rows, from the growing tree.

        They become new tensors, for the backward pass may still need the old ones.
        """
        arrays = self._growth.arrays
        own = arrays["numbers"][self._gate_nodes]
        weight = own[:, WEIGHT]
        columns = (
            own[:, THRESHOLD],
            np.full(len(own), self._growth.settings.gamma),
            arrays["gates"][0, self._gate_nodes, ALPHA_AT],
            np.where(weight > 0, own[:, LEFT_WEIGHT] / np.where(weight > 0, weight, 1.0), 0.5),
        )
        self.numbers = torch.tensor(np.stack(columns, 1)).to(self._like)
        self.mean = torch.tensor(arrays["scaler"][1]).to(self._like)
        self.inverse_deviation = torch.tensor(arrays["scaler"][2]).to(self._like)

    def to_tree(self) -> SoftTree:
        """The tree as it is now, in the units of the inputs; its link for classes is the softmax."""
        self._write_parameters()
        return self._growth.snapshot()

    # State

    def get_extra_state(self) -> dict[str, Any]:
        """Structure and statistics, as tensors; part of the `state_dict`."""
        state = self._growth.state()
        log = state.pop("log")
        whole = [name for name in EVENT.names or () if EVENT[name].kind == "i"]
        state["log_whole"] = np.stack([log[name] for name in whole], 1)
        state["log_real"] = np.stack([log[name] for name in EVENT.names or () if name not in whole], 1)
        state |= {"gate_nodes": self._gate_nodes, "leaf_nodes": self._leaf_nodes}
        tensors = {name: torch.tensor(array) for name, array in state.items()}
        return {"seed": int(self._growth.seed), "arrays": tensors}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Do nothing: a hook of `load_state_dict` has restored this state before.

        Parameters
        ----------
        state : dict
            What `get_extra_state` returned.
        """

    def _take_over(self, state: dict[str, Any], shapes: dict[str, list[torch.Size]]) -> None:
        """Get the structure and the statistics of a `state_dict`, and parameters in the right number."""
        arrays = {name: np.array(tensor.cpu().numpy(), order="C") for name, tensor in state["arrays"].items()}
        whole, real = arrays.pop("log_whole"), arrays.pop("log_real")
        log = np.empty(len(whole), EVENT)
        for name, column in zip(EVENT.names or (), [*whole.T, *real.T], strict=True):
            log[name] = column
        gate_nodes, leaf_nodes = arrays.pop("gate_nodes"), arrays.pop("leaf_nodes")
        # Settings are those of this layer, except for what the tree that grew needs.
        arrays |= {"log": log, "settings": np.array(self._growth.settings, dtype=np.float64)}
        growth = type(self._growth).from_state(arrays, self._limits, self.in_features, self.out_features)
        is_inner = growth.structure()[2]
        if not (
            np.array_equal(np.sort(gate_nodes), np.flatnonzero(is_inner))
            and np.array_equal(np.sort(leaf_nodes), np.flatnonzero(~is_inner))
            and shapes["weights"] == [(self.in_features,)] * len(gate_nodes)
            and shapes["values"] == [(self.out_features,)] * len(leaf_nodes)
        ):
            raise ValueError("weights, values and the structure of the tree do not fit together")
        growth.seed = np.uint64(state["seed"])
        self._growth, self._gate_nodes, self._leaf_nodes = growth, gate_nodes, leaf_nodes
        for name, size in (("weights", self.in_features), ("values", self.out_features)):
            held = list(getattr(self, name))[: len(shapes[name])]
            held += [nn.Parameter(self._like.new_zeros(size)) for _ in range(len(shapes[name]) - len(held))]
            setattr(self, name, nn.ParameterList(held))
        self._rebuild()

    def extra_repr(self) -> str:
        """Sizes, for the printed form."""
        return f"{self.in_features}, {self.out_features}, task={self.task!r}, n_leaves={len(self.values)}"


def _prepare_load(layer: GrowingTreeLayer, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
    extra = state_dict.get(prefix + "_extra_state")
    if extra is None:
        return  # torch reports that it is missing
    shapes: dict[str, list[torch.Size]] = {}
    for name in ("weights", "values"):
        begin = f"{prefix}{name}."
        found = {
            int(key.removeprefix(begin)): tensor.shape for key, tensor in state_dict.items() if key.startswith(begin)
        }
        shapes[name] = [found[number] for number in sorted(found)]
    try:
        layer._take_over(extra, shapes)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"The state of GrowingTreeLayer at {prefix!r} is damaged: {error}.") from error
