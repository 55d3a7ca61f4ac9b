"""How rows pass the trees of a layer: compiled loops on CPU, tensor operations elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from softwood.nn.operators import reached_part, route, walk
from softwood.trees.gate_tables import Structure
from softwood.trees.loops.gates import BLEND, KERNEL, SIGMOID  # plain numbers, which torch.compile understands
from softwood.trees.loops.layout import (
    BIAS,
    BLEND_AT,
    FEATURE,
    KIND,
    LEFT,
    LOWER,
    MISSING_LEFT,
    RIGHT,
    SHAPE,
    THRESHOLD,
    UPPER,
    WIDTH,
)

# Visiting all gates, whose sums are then matrix products, is faster if rows reach more than about this part of them.
DENSE_FROM = {torch.float32: 1 / 16, torch.float64: 1 / 8}
# Rows from which that part is estimated.
N_SAMPLED = 4
# Numbers that the gates compute for a part of the rows, all of which are visited at once.
MOST_NUMBERS = 2**24


class _Projection(torch.autograd.Function):
    """Weighted sums of rows, (n_gates, n_rows); its backward products have few long lines, which is twice as fast."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(points, weights)
        return torch.addmm(bias[:, None], weights, points.t())

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        points, weights = ctx.saved_tensors
        with_points, with_weights, with_bias = ctx.needs_input_grad
        return (
            (weights.t() @ slope).t() if with_points else None,
            (points.t() @ slope.t()).t() if with_weights else None,
            slope.sum(dim=1) if with_bias else None,
        )


class Trees(nn.Module):
    """The structure of trees, which moves with the layer; parameters are those of the layer.

    Parameters
    ----------
    structure : of the trees
    gamma : width of the smooth steps, if all gates are smooth steps of this width and nothing else
    """

    table: Tensor
    gates: Tensor
    leaves: Tensor
    edges: Tensor
    cdfs: Tensor
    leaf_order: Tensor

    def __init__(self, structure: Structure, *, gamma: float | None = None, dtype: torch.dtype) -> None:
        super().__init__()
        self.structure = structure
        self.gamma = gamma
        kinds = structure.table[:, KIND]
        self.is_sigmoid = bool((kinds == SIGMOID).all()) and len(kinds) > 0
        for name in ("table", "gates", "leaves"):
            self.register_buffer(name, torch.from_numpy(getattr(structure, name)), persistent=False)
        for name in ("edges", "cdfs"):
            array = torch.tensor(getattr(structure.shapes, name), dtype=dtype)
            self.register_buffer(name, array, persistent=False)
        self._plan()

    def _plan(self) -> None:
        """Indices for the tensor operations: for each level the gates, and where their shares come from."""
        table, levels = self.structure.table, self.structure.levels()
        leaf_places: list[Tensor] = []
        for depth, level in enumerate(levels):
            gates = torch.from_numpy(level)
            self.register_buffer(f"level_{depth}", gates, persistent=False)
            # Both children of all gates of this level, left ones first: those that are gates, and then leaves.
            children = torch.from_numpy(table[level][:, [LEFT, RIGHT]].T.reshape(-1).copy())
            below = torch.full((int((children >= 0).sum()),), -1)
            if depth + 1 < len(levels):
                order = torch.argsort(children[children >= 0])
                below = torch.nonzero(children >= 0).ravel()[order]
            self.register_buffer(f"below_{depth}", below, persistent=False)
            self.register_buffer(f"leaves_{depth}", torch.nonzero(children < 0).ravel(), persistent=False)
            leaf_places.append(-1 - children[children < 0])
        lone = (self.structure.gates[1:] == self.structure.gates[:-1]).nonzero()[0]
        leaf_places.append(torch.from_numpy(self.structure.leaves[:-1][lone]))
        self.level_sizes, self.n_lone = [len(level) for level in levels], len(lone)
        self.register_buffer("leaf_order", torch.argsort(torch.cat(leaf_places)), persistent=False)
        self.has_kernels = bool((table[:, KIND] == KERNEL).any())
        self.has_oblique = bool((table[:, KIND] != KERNEL).any())
        sizes = self.structure.leaves[1:] - self.structure.leaves[:-1]
        self.leaf_counts = sizes.tolist()

    def forward(self, points: Tensor, weights: Tensor, numbers: Tensor, value: Tensor) -> Tensor:
        """Sums of leaf values weighted by shares, (n_rows, n_trees, n_outputs).

        Parameters
        ----------
        points : (n_rows, n_features), nan where missing
        weights : (n_gates, n_features); no lines if there are no oblique gates
        numbers : (n_gates, 5) see `softwood.trees.loops.layout`
        value : (n_leaves, n_outputs)
        """
        if torch.compiler.is_compiling() or points.device.type != "cpu":
            return self.as_tensors(points, weights, numbers, value)
        if points.dtype not in DENSE_FROM:
            raise TypeError(f"Trees on CPU compute in float32 or float64, got {points.dtype}.")
        if not self._is_dense(points, weights, numbers):
            return walk(points, weights, numbers, value, *self.arguments())
        rows = max(256, MOST_NUMBERS // len(weights))
        parts = [self._routed(part, weights, numbers, value) for part in points.split(rows)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def arguments(self) -> tuple:
        """The structure, as the operators take it."""
        return self.table, self.gates, self.leaves, self.edges, self.cdfs

    def _is_dense(self, points: Tensor, weights: Tensor, numbers: Tensor) -> bool:
        """Whether all gates are visited, because rows reach many of them."""
        if not self.is_sigmoid and self.gamma is None:
            return False
        if len(points) < N_SAMPLED or not torch.isfinite(points.detach().sum()):
            return False  # missing and infinite values need care, which is taken where single gates are visited
        if self.is_sigmoid:
            return True
        sample = points[:: len(points) // N_SAMPLED][:N_SAMPLED]
        return reached_part(sample, weights, numbers, self.arguments()) > DENSE_FROM[points.dtype]

    def _routed(self, points: Tensor, weights: Tensor, numbers: Tensor, value: Tensor) -> Tensor:
        z = _Projection.apply(points, weights, numbers[:, BIAS])
        gamma = 0.0 if self.gamma is None else self.gamma
        parts = torch.sigmoid(z) if self.is_sigmoid else z
        return route(parts, value, self.table, self.gates, self.leaves, gamma)

    # Tensor operations

    def as_tensors(self, points: Tensor, weights: Tensor, numbers: Tensor, value: Tensor) -> Tensor:
        """The same as `forward` in tensor operations, for all gates, level by level."""
        part, is_missing = self._oblique_parts(points, weights, numbers) if self.has_oblique else (None, None)
        mass = self._masses(points, numbers) if self.has_kernels else None
        share = points.new_ones((points.shape[0], self.level_sizes[0] if self.level_sizes else 0))
        bounds: list[Tensor] = []
        found: list[Tensor] = []
        for depth in range(len(self.level_sizes)):
            gates = getattr(self, f"level_{depth}")
            here = None if part is None else part.index_select(1, gates)
            if mass is not None:
                here = self._kernel_parts(gates, mass, bounds, here)
            assert here is not None
            missing = numbers[gates, MISSING_LEFT].expand_as(here)
            here = torch.where(self._is_missing(points, gates, is_missing), missing, here)
            to_left = share * here
            sides = torch.cat([to_left, share - to_left], dim=1)
            found.append(sides.index_select(1, getattr(self, f"leaves_{depth}")))
            share = sides.index_select(1, getattr(self, f"below_{depth}"))
        found.append(points.new_ones((points.shape[0], self.n_lone)))
        shares = torch.cat(found, dim=1).index_select(1, self.leaf_order)
        if len(set(self.leaf_counts)) == 1:
            n_trees = len(self.leaf_counts)
            shares = shares.reshape(-1, n_trees, self.leaf_counts[0])
            return torch.einsum("ntl,tlo->nto", shares, value.reshape(n_trees, self.leaf_counts[0], -1))
        pairs = zip(shares.split(self.leaf_counts, dim=1), value.split(self.leaf_counts), strict=True)
        return torch.stack([own @ values for own, values in pairs], dim=1)

    def _oblique_parts(self, points: Tensor, weights: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Parts that go left at oblique gates, and where a value with a weight is missing, (n_rows, n_gates)."""
        unknown = torch.isnan(points)
        known = torch.where(unknown, torch.zeros_like(points), points)
        z = known @ weights.t() + numbers[:, BIAS]
        is_missing = (unknown.to(points.dtype) @ (weights != 0).to(points.dtype).t()) > 0
        kinds = self.table[:, KIND]
        width = torch.where(kinds == BLEND, numbers[:, WIDTH], torch.ones_like(numbers[:, WIDTH]))
        u = torch.clamp(z / width, -0.5, 0.5)
        passes = known.index_select(1, self.table[:, FEATURE]) <= numbers[:, THRESHOLD]
        blend = numbers[:, BLEND_AT]
        blended = blend * (0.5 + u * (1.5 - 2.0 * u * u)) + (1.0 - blend) * passes.to(z.dtype)
        crisp = (z > 0).to(z.dtype)
        part = torch.where(kinds == SIGMOID, torch.sigmoid(z), torch.where(kinds == BLEND, blended, crisp))
        return part, is_missing

    def _masses(self, points: Tensor, numbers: Tensor) -> Tensor:
        """Mass of each row's kernel at or below the threshold of each gate, (n_rows, n_gates)."""
        x = points.index_select(1, self.table[:, FEATURE])
        threshold, width = numbers[:, THRESHOLD], numbers[:, WIDTH]
        distance = torch.where(torch.isnan(x), torch.zeros_like(x), threshold - x)
        edges, cdfs = self.edges[self.table[:, SHAPE]], self.cdfs[self.table[:, SHAPE]]
        is_soft = width > 0
        z = distance / torch.where(is_soft, width, torch.ones_like(width))
        mass = torch.zeros_like(z)
        for k in range(1, self.edges.shape[1]):  # piecewise linear: a sum of clipped pieces
            low, high = edges[:, k - 1], edges[:, k]
            length = torch.where(high > low, high - low, torch.ones_like(low))
            mass = mass + (cdfs[:, k] - cdfs[:, k - 1]) * torch.clamp((z - low) / length, 0.0, 1.0)
        return torch.where(is_soft, mass, (distance >= 0).to(z.dtype))

    def _kernel_parts(self, gates: Tensor, mass: Tensor, bounds: list[Tensor], part: Tensor | None) -> Tensor:
        """Parts that go left at the gates of a level, with the bounds that gates above set; others keep theirs.

        Parameters
        ----------
        bounds : upper and lower bounds of all gates of the levels above, which are added to
        """
        if not bounds:
            bounds += [torch.ones_like(mass), torch.zeros_like(mass)]
        upper, lower = self.table[gates, UPPER], self.table[gates, LOWER]
        at_upper, at_lower = torch.clamp(upper, min=0), torch.clamp(lower, min=0)
        own = mass.index_select(1, gates)
        high = torch.minimum(mass.index_select(1, at_upper), bounds[0].index_select(1, at_upper))
        low = torch.maximum(mass.index_select(1, at_lower), bounds[1].index_select(1, at_lower))
        high = torch.where(upper >= 0, high, torch.ones_like(high))
        low = torch.where(lower >= 0, low, torch.zeros_like(low))
        bounds[0], bounds[1] = bounds[0].index_copy(1, gates, high), bounds[1].index_copy(1, gates, low)
        is_between = (own < high) & (own > low)
        length = torch.where(is_between, high - low, torch.ones_like(high))
        share = torch.where(is_between, (own - low) / length, (own >= high).to(own.dtype))
        return share if part is None else torch.where(self.table[gates, KIND] == KERNEL, share, part)

    def _is_missing(self, points: Tensor, gates: Tensor, is_missing: Tensor | None) -> Tensor:
        kinds = self.table[gates, KIND]
        tested = torch.isnan(points.index_select(1, self.table[gates, FEATURE]))
        has_test = (kinds == KERNEL) | (kinds == BLEND)
        missing = tested & has_test
        if is_missing is not None:
            missing = missing | (is_missing.index_select(1, gates) & (kinds != KERNEL))
        return missing
