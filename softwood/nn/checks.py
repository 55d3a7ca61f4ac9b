"""Checks of the inputs of layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def read_points(layer: Any, x: Any, n_features: int, like: Tensor) -> Tensor:
    """Inputs as a matrix (n_rows, n_features) of the type of the layer's parameters.

    Parameters
    ----------
    like : a parameter of the layer
    """
    name = type(layer).__name__
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} takes a torch.Tensor, got {type(x).__name__}.")
    if x.ndim == 0 or x.shape[-1] != n_features:
        raise ValueError(f"{name} takes inputs of shape (..., {n_features}), got {tuple(x.shape)}.")
    if not x.is_floating_point():
        raise TypeError(f"{name} takes floating-point inputs, got {x.dtype}; convert them with x.to({like.dtype}).")
    if x.device != like.device:
        raise ValueError(f"The inputs of {name} are on {x.device}, and its parameters on {like.device}.")
    if x.dtype != like.dtype:
        if torch.promote_types(x.dtype, like.dtype) != like.dtype:
            raise TypeError(
                f"The parameters of {name} are {like.dtype}, and its inputs {x.dtype}: they would lose digits. "
                f"Convert the layer with .to({x.dtype}), or the inputs with x.to({like.dtype})."
            )
        x = x.to(like.dtype)
    return x.reshape(-1, n_features) if x.numel() else x.reshape(_n_rows(x), n_features)


def _n_rows(x: Tensor) -> int:
    rows = 1
    for size in x.shape[:-1]:
        rows *= size
    return rows
