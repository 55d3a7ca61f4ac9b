"""What is read from a model of another package, and parts that all readers share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class ImportedModel:
    """The trees of a model of another package.

    Attributes
    ----------
    trees : `SoftTree` or `SoftForest`, whose predictions are probabilities, targets, or the raw scores of boosting
    classes : (n_classes,) labels, or None for real targets
    link : "identity", "logistic", "softmax" or "exp": from raw scores to predictions; None if it is another function
    objective : name of the loss, for messages
    scale : factor on the scores before the link
    missing : number that counts as a missing value besides nan, after rounding to float32; nan if there is none
    """

    trees: SoftTree | SoftForest
    classes: np.ndarray | None = None
    link: str | None = "identity"
    objective: str = ""
    scale: float = 1.0
    missing: float = np.nan

    @property
    def scaled_trees(self) -> SoftTree | SoftForest:
        """The trees with the factor on the scores in their values."""
        if self.scale == 1.0:
            return self.trees
        value = self.trees.value * self.scale
        if isinstance(self.trees, SoftForest):
            return replace(self.trees, value=value, base=self.trees.base * self.scale)
        return replace(self.trees, value=value)


def read_json(text: str | bytes | bytearray, caller: str) -> Any:
    """What JSON text holds; an error that names the caller if it is not JSON."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{caller} got text that is not JSON: {error}.") from error


def read_model(model: Any, caller: str) -> ImportedModel:
    """Read a model of any package; `caller` is the name of the function in error messages."""
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "lightgbm" in packages:
        from softwood.imported.lightgbm_dump import read_lightgbm

        return read_lightgbm(model, caller)
    if "xgboost" in packages:
        from softwood.imported.xgboost_dump import read_xgboost

        return read_xgboost(model, caller)
    from softwood.imported.scikit_learn import read_sklearn

    return read_sklearn(model, caller)


def crisp_tree(
    *,
    left: Any,
    right: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    value: Any,
    n_features: int,
    sets: Sequence[Sequence[int] | None] = (),
    **given: Any,
) -> SoftTree:
    """A tree of crisp tests ``x[feature] <= threshold``; columns of leaves may hold anything.

    A threshold that is infinite, because all values that are not missing go left, becomes the largest number.

    Parameters
    ----------
    sets : for each node None, or the numbers of the categories that go left
    """
    is_leaf = np.asarray(left) < 0
    gate = np.where(is_leaf, Gate.LEAF, Gate.KERNEL)
    largest = max((number for own in sets if own is not None for number in own), default=-1)
    if largest >= 0:
        subsets = np.zeros((len(is_leaf), largest // 32 + 1), np.uint32)
        for node, own in enumerate(sets):
            if own is not None:
                gate[node] = Gate.SUBSET
                for number in own:
                    subsets[node, number // 32] |= np.uint32(1 << number % 32)
        given["subsets"] = subsets
    threshold = np.clip(np.asarray(threshold, dtype=np.float64), -LARGEST, LARGEST)
    return SoftTree.from_nodes(
        children_left=np.where(is_leaf, -1, left),
        children_right=np.where(is_leaf, -1, right),
        gate=gate,
        feature=np.where(is_leaf, -1, feature),
        threshold=np.where(is_leaf, np.nan, threshold),
        missing_left=np.where(is_leaf, 0.5, np.asarray(missing_left, dtype=np.float64)),
        value=value,
        n_features=n_features,
        **given,
    )


def highest_double(limit: Any) -> np.ndarray:
    """For numbers of float32, the largest float64 that rounds to each of them or to less.

    Packages that round their rows to float32 send ``x`` left if ``float32(x) <= limit``; this is the same as
    ``x <= highest_double(limit)``, for all float64.
    """
    limit = np.asarray(limit, dtype=np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(limit, np.float32(np.inf)).astype(np.float64)
        middle = 0.5 * (limit.astype(np.float64) + above)
        # A value in the middle goes to the even neighbour.
        exact = np.where(middle.astype(np.float32) <= limit, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(above), exact, LARGEST)


def float32_below(numbers: np.ndarray) -> np.ndarray:
    """The largest number of float32 that is not above each number."""
    numbers = np.asarray(numbers, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
        is_above = rounded.astype(np.float64) > numbers
        return np.where(is_above, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def check_trees(trees: Sequence[Any], what: str) -> None:
    """Raise an error if a model has no trees."""
    if not len(trees):
        raise ValueError(f"{what} has no trees.")
