"""New parameters in the optimiser that trains a layer."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn


def group_of(optimizer: torch.optim.Optimizer, parameters: Iterable[nn.Parameter]) -> dict[str, Any] | None:
    """The first group of an optimiser that has one of these parameters, or None."""
    wanted = {id(parameter) for parameter in parameters}
    for group in optimizer.param_groups:
        if any(id(held) in wanted for held in group["params"]):
            return group
    return None


def add_parameter(
    optimizer: torch.optim.Optimizer,
    group: dict[str, Any],
    parameter: nn.Parameter,
    old: nn.Parameter | None,
    ordered: list[nn.Parameter],
) -> None:
    """Add a parameter to a group of an optimiser, whose state of other parameters does not change.

    Parameters
    ----------
    old : an old parameter of the same shape, whose state (such as moments and number of steps) it starts with; None:
        it starts without any
    ordered : the parameters of the layer, the new one included. Those in the group get this order, in which a
        new optimiser would have them: states of optimisers are saved by the numbers of parameters
    """
    held = [*group["params"], parameter]
    of_layer = {id(own) for own in ordered}
    first = next(number for number, each in enumerate(held) if id(each) in of_layer)
    others = [each for each in held if id(each) not in of_layer]
    in_group = {id(each) for each in held}
    own = [each for each in ordered if id(each) in in_group]
    group["params"] = [*others[:first], *own, *others[first:]]
    if old is not None and old in optimizer.state:
        optimizer.state[parameter] = copy.deepcopy(optimizer.state[old])
