"""Models by the names of the command line."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softwood.cli.errors import CommandError, UsageError

if TYPE_CHECKING:
    from softwood.fitted import FittedModel
    from softwood.trees.tree import SoftTree

# Name, and what a class of softwood begins with.
BATCH = {
    "kernel-tree": "KernelTree",
    "kernel-forest": "KernelForest",
    "kernel-extra-trees": "KernelExtraTrees",
    "kernel-boosting": "KernelBoosting",
    "soft-tree": "SoftTree",
    "linear-discriminant-tree": "LinearDiscriminantTree",
    "one-stage-tree": "OneStageTree",
    "one-stage-forest": "OneStageForest",
    "budding-tree": "BuddingTree",
    "end-to-end-tree": "EndToEndTree",
}
STREAM = {
    "soft-hoeffding-tree": "SoftHoeffdingTree",
    "hoeffding-tree": "HoeffdingTree",
    "smooth-step-tree": "SmoothStepTree",
    "stream-forest": "StreamForest",
}


def class_of(name: str, task: str) -> type:
    """The class of this name for this kind of problem."""
    families = BATCH | STREAM
    if name not in families:
        close = get_close_matches(name, families, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise UsageError(f"there is no model {name!r}; choose from {', '.join(families)}.{hint}")
    module = import_module("softwood.stream" if name in STREAM else "softwood")
    class_name = families[name] + ("Classifier" if task == "classification" else "Regressor")
    if not hasattr(module, class_name):
        raise UsageError(f"the model {name!r} is for classification only.")
    return getattr(module, class_name)


def make_model(name: str, task: str, settings: dict[str, Any], seed: int) -> Any:
    """A model with these parameters; an error that names a parameter that there is not."""
    kind = class_of(name, task)
    known = inspect.signature(kind).parameters
    for parameter in settings:
        if parameter not in known:
            close = get_close_matches(parameter, known, n=1)
            hint = f" Did you mean {close[0]}?" if close else f" It has {', '.join(known)}."
            raise UsageError(f"--set: {kind.__name__} has no parameter {parameter!r}.{hint}")
    given = {"random_state": seed} if "random_state" in known else {}
    return kind(**given | settings)


def load_model(path: Any) -> Any:
    """A fitted model from a file."""
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from softwood.files.saving import load

    if not path.exists():
        raise CommandError(f"there is no file {str(path)!r}.")
    model = load(path)
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise CommandError(f"{str(path)!r} holds a {type(model).__name__} that is not fitted.") from None
    return model


def tree_of(known: FittedModel, number: int | None) -> SoftTree:
    """The tree of this number, the first one by default."""
    if not 0 <= (number or 0) < known.n_trees:
        has = "one tree, number 0" if known.n_trees == 1 else f"trees 0 to {known.n_trees - 1}"
        raise UsageError(f"--tree: the model has {has}, got {number}.")
    return known.tree(number or 0)
