"""What estimators keep beside their trees: encodings of columns, kernels, scalings, losses, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.columns import MAX_CATEGORIES, Columns
from softwood.core.losses import Loss, loss_by_name
from softwood.files.checks import all_finite, check_array, check_entries, check_type, is_within
from softwood.files.values import check_name, damage
from softwood.gradient.data import Scaling
from softwood.gradient.one_stage_training import StagedTree
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.prediction import Reading
from softwood.trees.tree import KernelShapes

# Columns


def columns_state(columns: Columns) -> dict[str, Any]:
    """State of an encoding. Names that are those of the table's columns are not repeated."""
    return {
        "names": None if columns.names == columns.inputs else list(columns.names),
        "inputs": list(columns.inputs),
        "source": columns.source,
        "categories": [None if known is None else list(known) for known in columns.categories],
        "handle_unknown": columns.handle_unknown,
        **({"as_codes": True} if columns.as_codes else {}),
        **({"keys": list(columns.keys)} if columns.keys is not None else {}),
    }


def build_columns(state: dict[str, Any]) -> Columns:
    """A checked encoding."""
    check_entries(state, ["names", "inputs", "source", "categories", "handle_unknown"], ["as_codes", "keys"])
    as_codes = check_type(state.get("as_codes", False), bool, "as_codes")
    inputs = _texts(state["inputs"], "inputs")
    names = inputs if state["names"] is None else _texts(state["names"], "names")
    source = check_array(state["source"], np.int64, (len(names),), "source")
    categories = check_type(state["categories"], list, "categories")
    if len(categories) != len(inputs) or not is_within(source, 0, len(inputs) - 1):
        raise damage("source and categories do not fit the columns")
    n_encoded = np.bincount(source, minlength=len(inputs))
    for known, n in zip(categories, n_encoded.tolist(), strict=True):
        if known is None:
            if n != 1:
                raise damage("a column of numbers has no place, or several")
            continue
        check_type(known, list, "categories")
        # Two categories have a column each on a stream, and one together elsewhere; their numbers have one column.
        expected = (1,) if as_codes else (1, 2) if len(known) == 2 else (len(known),)
        if len(known) > MAX_CATEGORIES or n not in expected:
            raise damage("a column has another number of categories than of places")
        if len({check_name(category) for category in known}) < len(known):
            raise damage("a category is there twice")
    if check_type(state["handle_unknown"], str, "handle_unknown") not in ("missing", "error"):
        raise damage("handle_unknown is neither missing nor error")
    keys = state.get("keys")
    if keys is not None:
        keys = tuple(map(check_name, check_type(keys, list, "keys")))
        if len(keys) != len(inputs) or len(set(keys)) < len(keys):
            raise damage("keys are not the names of the columns")
    every = tuple(None if known is None else tuple(known) for known in categories)
    return Columns(names, source, every, inputs, state["handle_unknown"], as_codes, keys)


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not all(type(text) is str for text in check_type(value, list, name)):
        raise damage(f"{name} are no text")
    return tuple(value)


# Kernels


def kernel_state(kernel: Kernel) -> dict[str, Any]:
    """State of a kernel; a function as its scale is refused when it is written."""
    return {"edges": kernel.edges, "densities": kernel.densities, "scale": kernel.scale}


def build_kernel(state: dict[str, Any]) -> Kernel:
    """A checked kernel, with the very numbers of the file."""
    check_entries(state, ["edges", "densities", "scale"])
    edges = check_array(state["edges"], np.float64, (None,), "edges")
    densities = check_array(state["densities"], np.float64, (None,), "densities")
    if state["scale"] is not None:
        raise damage("scale of a kernel is something")
    try:
        kernel = Kernel(edges, densities)
    except ValueError as error:
        raise damage(str(error)) from None
    if not np.allclose(kernel.densities, densities, rtol=1e-9, atol=0.0):
        raise damage("densities of a kernel do not have the integral 1")
    object.__setattr__(kernel, "densities", densities)  # which the constructor has normalised once more
    return kernel


_READING = (
    "widths", "kernels", "kinds", "shapes", "measurement_error", "is_crisp", "is_as_grown", "has_node_widths",
)  # fmt: skip


def reading_state(reading: Reading) -> dict[str, Any]:
    """State of the prediction kernels. Columns mostly have the same kernel, which is written once."""
    state = {name: getattr(reading, name) for name in _READING}
    different = list({id(kernel): kernel for kernel in reading.kernels}.values())
    number = {id(kernel): k for k, kernel in enumerate(different)}
    places = np.array([number[id(kernel)] for kernel in reading.kernels], dtype=np.int64)
    return state | {"kernels": different, "places": places}


def build_reading(state: dict[str, Any]) -> Reading:
    """Checked prediction kernels."""
    check_entries(state, [*_READING, "places"])
    widths = check_array(state["widths"], np.float64, (None,), "widths")
    places = check_array(state["places"], np.int64, widths.shape, "places")
    kinds = check_array(state["kinds"], np.asarray(state["kinds"]).dtype, widths.shape, "kinds")
    kernels = check_type(state["kernels"], list, "kernels")
    shapes = check_type(state["shapes"], KernelShapes, "shapes")
    if not is_within(widths, 0.0, np.inf) or not is_within(places, 0, len(kernels) - 1):
        raise damage("widths or kernels of a reading are wrong")
    if kinds.dtype.kind not in "iu" or not is_within(kinds, 0, len(shapes) - 1):
        raise damage("kinds of a reading are no rows of shapes")
    for kernel in kernels:
        check_type(kernel, Kernel, "a kernel")
    for name in ("is_crisp", "is_as_grown", "has_node_widths"):
        check_type(state[name], bool, name)
    given = {name: state[name] for name in _READING}
    return Reading(**given | {"kernels": [kernels[k] for k in places.tolist()]})


# Trees trained by gradient descent


def scaling_state(scaling: Scaling) -> dict[str, Any]:
    """State of a scaling."""
    return {"center": scaling.center, "scale": scaling.scale}


def build_scaling(state: dict[str, Any]) -> Scaling:
    """A checked scaling."""
    check_entries(state, ["center", "scale"])
    center = check_array(state["center"], np.float64, (None,), "center")
    scale = check_array(state["scale"], np.float64, center.shape, "scale")
    if not all_finite(center) or not np.all(scale > 0.0):
        raise damage("center is not finite, or scale not above 0")
    return Scaling(center, scale)


_STAGED = ("gates", "gamma", "alive", "mass", "sums")


def staged_state(tree: StagedTree) -> dict[str, Any]:
    """State of a complete tree."""
    return {name: getattr(tree, name) for name in _STAGED}


def build_staged(state: dict[str, Any]) -> StagedTree:
    """A checked complete tree."""
    check_entries(state, _STAGED)
    gates = check_array(state["gates"], np.float64, (None, None), "gates")
    n = len(gates)
    check_array(state["gamma"], np.float64, (n,), "gamma")
    check_array(state["alive"], np.bool_, (n,), "alive")
    check_array(state["mass"], np.float64, (2 * n + 1,), "mass")
    check_array(state["sums"], np.float64, (2 * n + 1, None), "sums")
    if n & (n + 1) or not all(all_finite(state[name]) for name in ("gates", "gamma", "mass", "sums")):
        raise damage("a complete tree has a wrong number of nodes, or numbers that are not finite")
    return StagedTree(**state)


# Losses

LOSSES = {
    "SquaredError": "squared_error",
    "AbsoluteError": "absolute_error",
    "QuantileError": "quantile",
    "SeveralQuantilesError": "quantile",
    "PoissonDeviance": "poisson",
    "BinaryLogLoss": "log_loss",
    "SoftmaxLogLoss": "log_loss",
}


def loss_state(loss: Loss) -> dict[str, Any]:
    """State of a loss: what `loss_by_name` takes."""
    name = LOSSES[type(loss).__name__]
    n_classes = (2 if type(loss).__name__ == "BinaryLogLoss" else loss.n_scores) if name == "log_loss" else None
    quantile = getattr(loss, "quantile", None)
    return {
        "name": name,
        "n_classes": n_classes,
        "quantile": list(quantile) if isinstance(quantile, tuple) else quantile,
    }


def build_loss(class_name: str, state: dict[str, Any]) -> Loss:
    """A checked loss of this class."""
    check_entries(state, ["name", "n_classes", "quantile"])
    n_classes, quantile = state["n_classes"], state["quantile"]
    numbers = quantile if type(quantile) is list else [0.0 if quantile is None else quantile]
    if type(n_classes) not in (int, type(None)) or any(type(number) is not float for number in numbers):
        raise damage("a loss is wrong")
    try:
        loss = loss_by_name(check_type(state["name"], str, "name"), n_classes, quantile)
    except ValueError as error:
        raise damage(str(error)) from None
    if type(loss).__name__ != class_name or not loss.n_scores < 2**31:
        raise damage("a loss is of another class than it says")
    return loss


# Random numbers


def random_state(state: np.random.RandomState) -> dict[str, Any]:
    """State of a generator of random numbers."""
    _, keys, place, has_gauss, gauss = state.get_state(legacy=True)
    return {"keys": keys, "place": int(place), "has_gauss": int(has_gauss), "gauss": float(gauss)}


def build_random(state: dict[str, Any]) -> np.random.RandomState:
    """A checked generator."""
    check_entries(state, ["keys", "place", "has_gauss", "gauss"])
    keys = check_array(state["keys"], np.uint32, (624,), "keys")
    place, has_gauss = check_type(state["place"], int, "place"), check_type(state["has_gauss"], int, "has_gauss")
    gauss = check_type(state["gauss"], float, "gauss")
    if not 0 <= place <= 624 or has_gauss not in (0, 1) or not np.isfinite(gauss) or not keys.any():
        raise damage("a state of random numbers is wrong")
    made = np.random.RandomState()
    made.set_state(("MT19937", keys, place, has_gauss, gauss))
    return made
