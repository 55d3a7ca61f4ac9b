"""The operators of the compiled loops on CPU: one that visits the gates that rows reach, one that visits all gates.

Both give the sum of leaf values weighted by shares of each row and tree, (n_rows, n_trees, n_outputs), and do not save
anything for the backward pass but their inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from softwood.compiled.layers import count_reached, mark_reached, route_rows, route_slopes, walk_rows, walk_slopes
from softwood.nn.loops.route import BLOCK
from softwood.trees.loops.gate_walk import N_ROOM
from softwood.trees.loops.layout import LayerTrees


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()


def _layer_trees(table: Tensor, gates: Tensor, leaves: Tensor, edges: Tensor, cdfs: Tensor) -> LayerTrees:
    return LayerTrees(_array(table), _array(gates), _array(leaves), _array(edges.double()), _array(cdfs.double()))


def _walk_room(trees: LayerTrees, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    most = max(1, int(np.diff(trees.gates).max(initial=0)))
    return np.empty(most, np.int64), np.empty((most, N_ROOM), points.dtype)


def _walk_arguments(
    points: Tensor, weights: Tensor, numbers: Tensor, trees: tuple
) -> tuple[np.ndarray, LayerTrees, np.ndarray | None, np.ndarray]:
    return _array(points), _layer_trees(*trees), _array(weights) if len(weights) else None, _array(numbers)


def reached_part(points: Tensor, weights: Tensor, numbers: Tensor, trees: tuple) -> float:
    """Mean part of the gates that the rows reach."""
    rows, layer_trees, lines, columns = _walk_arguments(points, weights, numbers, trees)
    nodes, room = _walk_room(layer_trees, rows)
    reached = count_reached(rows, layer_trees, lines, columns, nodes, room)
    return reached / max(1, len(rows) * len(columns))


def reached_nodes(points: Tensor, weights: Tensor, numbers: Tensor, trees: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the gates that a gradient of the rows moves, and of the leaves that they reach."""
    rows, layer_trees, lines, columns = _walk_arguments(points, weights, numbers, trees)
    moved = np.zeros(len(columns), np.bool_)
    reached = np.zeros(int(layer_trees.leaves[-1]), np.bool_)
    mark_reached(rows, layer_trees, lines, columns, *_walk_room(layer_trees, rows), moved, reached)
    return np.flatnonzero(moved), np.flatnonzero(reached)


# Visiting the gates that rows reach


@torch.library.custom_op("softwood::walk", mutates_args=(), device_types="cpu")
def walk(
    points: Tensor, weights: Tensor, numbers: Tensor, value: Tensor, table: Tensor, gates: Tensor, leaves: Tensor,
    edges: Tensor, cdfs: Tensor,
) -> Tensor:  # fmt: skip
    """Sums of leaf values by row and tree; see `softwood.trees.loops.gate_walk`. `weights` may be empty."""
    rows, trees, lines, columns = _walk_arguments(points, weights, numbers, (table, gates, leaves, edges, cdfs))
    values = _array(value)
    out = np.zeros((len(rows), len(trees.gates) - 1, values.shape[1]), values.dtype)
    walk_rows(rows, trees, lines, columns, values, *_walk_room(trees, rows), out)
    return torch.from_numpy(out)


@walk.register_fake
def _(points, weights, numbers, value, table, gates, leaves, edges, cdfs):  # type: ignore[no-untyped-def]
    return value.new_empty((points.shape[0], gates.shape[0] - 1, value.shape[1]))


@torch.library.custom_op("softwood::walk_backward", mutates_args=(), device_types="cpu")
def walk_backward(
    slope: Tensor, points: Tensor, weights: Tensor, numbers: Tensor, value: Tensor, table: Tensor, gates: Tensor,
    leaves: Tensor, edges: Tensor, cdfs: Tensor, with_points: bool, with_gates: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Derivatives by points, weights, numbers and value; those that are not wanted have no lines."""
    rows, trees, lines, columns = _walk_arguments(points, weights, numbers, (table, gates, leaves, edges, cdfs))
    values = _array(value)
    wanted = (with_points, with_gates, with_gates, True)
    slopes = [
        np.zeros((len(tensor) if want else 0, tensor.shape[1]), values.dtype)
        for tensor, want in zip((points, weights, numbers, value), wanted, strict=True)
    ]
    walk_slopes(rows, trees, lines, columns, values, *_walk_room(trees, rows), _array(slope), *slopes)
    by_points, by_weights, by_numbers, by_value = map(torch.from_numpy, slopes)
    return by_points, by_weights, by_numbers, by_value


@walk_backward.register_fake
def _(  # type: ignore[no-untyped-def]
    slope, points, weights, numbers, value, table, gates, leaves, edges, cdfs, with_points, with_gates
):
    wanted = (with_points, with_gates, with_gates, True)
    return tuple(
        tensor.new_empty((tensor.shape[0] if want else 0, tensor.shape[1]))
        for tensor, want in zip((points, weights, numbers, value), wanted, strict=True)
    )


def _save_walk(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _walk_gradients(ctx: Any, slope: Tensor) -> tuple:
    with_points, with_gates = ctx.needs_input_grad[0], any(ctx.needs_input_grad[1:3])
    slopes = walk_backward(slope, *ctx.saved_tensors, with_points, with_gates)
    wanted = (with_points, with_gates, with_gates, True)
    return (*(slope if want else None for slope, want in zip(slopes, wanted, strict=True)), *[None] * 5)


walk.register_autograd(_walk_gradients, setup_context=_save_walk)


# Visiting all gates


def _route_room(gates: np.ndarray, leaves: np.ndarray, kind: np.dtype) -> np.ndarray:
    most = int((np.diff(gates) + np.diff(leaves)).max(initial=1))
    return np.empty((most, BLOCK), kind)


def _route_trees(table: Tensor, gates: Tensor, leaves: Tensor) -> LayerTrees:
    none = np.empty((0, 0))
    return LayerTrees(_array(table), _array(gates), _array(leaves), none, none)


@torch.library.custom_op("softwood::route", mutates_args=(), device_types="cpu")
def route(z: Tensor, value: Tensor, table: Tensor, gates: Tensor, leaves: Tensor, gamma: float) -> Tensor:
    """Sums of leaf values by row and tree; see `softwood.nn.loops.route`."""
    trees, inputs, values = _route_trees(table, gates, leaves), _array(z), _array(value)
    out = np.zeros((len(trees.gates) - 1, values.shape[1], inputs.shape[1]), inputs.dtype)
    room = _route_room(trees.gates, trees.leaves, inputs.dtype)
    route_rows(inputs, inputs.dtype.type(gamma), values, trees, room, out)
    return torch.from_numpy(np.ascontiguousarray(out.transpose(2, 0, 1)))


@route.register_fake
def _(z, value, table, gates, leaves, gamma):  # type: ignore[no-untyped-def]
    return value.new_empty((z.shape[1], gates.shape[0] - 1, value.shape[1]))


@torch.library.custom_op("softwood::route_backward", mutates_args=(), device_types="cpu")
def route_backward(
    slope: Tensor, z: Tensor, value: Tensor, table: Tensor, gates: Tensor, leaves: Tensor, gamma: float
) -> tuple[Tensor, Tensor]:
    """Derivatives by `z` and `value`."""
    trees, inputs, values = _route_trees(table, gates, leaves), _array(z), _array(value)
    shares = _route_room(trees.gates, trees.leaves, inputs.dtype)
    by_z, by_value = np.empty_like(inputs), np.zeros_like(values)
    slopes = _array(slope.permute(1, 2, 0))
    route_slopes(
        inputs, inputs.dtype.type(gamma), values, trees, shares, np.empty_like(shares), slopes, by_z, by_value
    )  # fmt: skip
    return torch.from_numpy(by_z), torch.from_numpy(by_value)


@route_backward.register_fake
def _(slope, z, value, table, gates, leaves, gamma):  # type: ignore[no-untyped-def]
    return torch.empty_like(z), torch.empty_like(value)


def _save_route(ctx: Any, inputs: tuple, output: Tensor) -> None:
    *tensors, gamma = inputs
    ctx.save_for_backward(*tensors)
    ctx.gamma = gamma


def _route_gradients(ctx: Any, slope: Tensor) -> tuple:
    return *route_backward(slope, *ctx.saved_tensors, ctx.gamma), None, None, None, None


route.register_autograd(_route_gradients, setup_context=_save_route)
