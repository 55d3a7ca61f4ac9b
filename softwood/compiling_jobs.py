"""What each family compiles: small models, fitted and used in all ways that need separate compiled code.

numba compiles a loop for every combination of argument types. So each kind below is a combination that a user may need:
classes or targets, one or several; bins with codes of one byte or of four; the box or other kernels; None or an array.
The numbers of rows and columns do not matter and are small, unless there are loops for many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

__all__ = ["JOBS", "run_job"]

# More rows than the 255 distinct values that fit in a code of one byte.
_ROWS = 320
_SOME = 40
# Rows that are shared by threads in blocks, see `softwood.loops.boost_search.BLOCK_ROWS`.
_MANY = 70_000

_Data = tuple[np.ndarray, np.ndarray]


def _table(target: str, n: int = _ROWS) -> _Data:
    """Rows of three columns, and a target of this kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] + 0.5 * X[:, 1]
    if target == "targets":
        return X, np.column_stack([signal, X[:, 2]])
    if target == "target":
        return X, signal
    if target == "shares":
        share = 1.0 / (1.0 + np.exp(-signal))
        return X, np.column_stack([share, (1.0 - share) / 2, (1.0 - share) / 2])
    edges = [0.0] if target == "two classes" else [-0.5, 0.5]
    return X, np.digitize(signal, edges)


def _model(module: str, name: str, target: str, **parameters: Any) -> Any:
    """The classifier or the regressor of a family; imported here, so that a job imports only its own family."""
    from importlib import import_module

    kind = "Regressor" if target in ("target", "targets") else "Classifier"
    return getattr(import_module(module), name + kind)(**parameters)


def _read(model: Any, X: np.ndarray, **conditions: Any) -> None:
    """Call all methods of a fitted model: with complete rows, rows with missing values, and read-only rows."""
    whole, gaps = X[:_SOME], X[:_SOME].copy()
    gaps[::2, 0] = np.nan
    for rows in (whole, gaps, _locked(whole), _locked(gaps)):
        for method in ("predict", "predict_proba", "predict_largest", "memberships", "input_gradient"):
            if hasattr(model, method):
                getattr(model, method)(rows, **conditions)


def _locked(array: np.ndarray) -> np.ndarray:
    """A read-only copy, like the arrays of data frames; numba treats read-only arrays as a separate type."""
    array = array.copy()
    array.flags.writeable = False
    return array


# Finished trees


def _axis_aligned_tree(width: float, by_cell: bool) -> None:
    from softwood.tree import SoftTree

    tree = SoftTree.from_nodes(
        **_STUMP, feature=[0, -1, -1], threshold=[0.0, np.nan, np.nan], width=[width, 0.0, 0.0], n_features=3
    )
    X, _ = _table("target", _SOME)
    _read(tree, X, **({"widths": np.full(X.shape, 0.1)} if by_cell else {}))


def _oblique_tree() -> None:
    from softwood.gates import Gate
    from softwood.tree import SoftTree

    gates = [Gate.SIGMOID, Gate.LEAF, Gate.LEAF]
    _read(SoftTree.from_nodes(**_STUMP, gate=gates, weights=np.ones((3, 3)), n_features=3), _table("target", _SOME)[0])


def _tree_of_sets() -> None:
    from softwood.gates import Gate
    from softwood.tree import SoftTree

    gates = [Gate.SUBSET, Gate.LEAF, Gate.LEAF]
    tree = SoftTree.from_nodes(**_STUMP, gate=gates, feature=[0, -1, -1], subsets=[[1], [0], [0]], n_features=3)
    _read(tree, np.abs(_table("target", _SOME)[0]) % 32.0)


_STUMP: dict[str, Any] = {
    "children_left": [1, -1, -1],
    "children_right": [2, -1, -1],
    "value": [[0.5], [0.0], [1.0]],
}
_FINISHED: dict[str, Callable[[], None]] = {
    "kernel gates": partial(_axis_aligned_tree, 0.1, False),
    "oblique gates": _oblique_tree,
    "widths of cells": partial(_axis_aligned_tree, 0.1, True),
    "crisp tests": partial(_axis_aligned_tree, 0.0, False),
    "sets of categories": _tree_of_sets,
}


# Kernel trees and their ensembles

_TREE: dict[str, Any] = {"bandwidth": 0.2, "random_state": 0}
_FOREST: dict[str, Any] = {"n_estimators": 2, **_TREE}
_KERNEL_TARGETS = {
    "two classes or one target": ("two classes", "target"),  # of two classes one sum is enough, so they are as a target
    "three classes": ("three classes",),
    "several targets": ("targets", "shares"),
}


def _kernel_model(
    module: str, name: str, common: dict[str, Any], targets: tuple[str, ...], splitter: str, kernel: str
) -> None:
    """A kernel tree or forest: grown by the loop, best leaf first, and in threads."""
    ways: list[dict[str, Any]] = [{}, {"max_leaf_nodes": 4}, {"n_jobs": 2}]
    for target in targets:
        X, y = _table(target)
        gaps = X.copy()
        gaps[::7, 1] = np.nan
        settings = {**common, "splitter": splitter, "kernel": kernel}
        for way in ways:
            _read(_model(module, name, target, **settings, **way).fit(gaps, y, 1.0 + np.arange(len(y)) % 3), X)
        model = _model(module, name, target, **settings, prediction_kernel=None)
        _read(model.fit(_locked(X), y), X)
        if kernel != "box":
            errors = np.full(X.shape, 0.1)
            model = _model(module, name, target, **settings).fit(X, y, measurement_error=errors)
            _read(model, X, measurement_error=errors[:_SOME])


def _kernel_entropy(module: str, name: str, common: dict[str, Any], kernel: str) -> None:
    for target, splitter in product(("two classes", "three classes", "shares"), ("exact", "hist")):
        X, y = _table(target)
        settings = {**common, "criterion": "entropy", "splitter": splitter, "kernel": kernel}
        _read(_model(module, name, target, **settings).fit(X, y), X)


def _kernel_jobs(module: str, name: str, common: dict[str, Any]) -> dict[str, Callable[[], None]]:
    jobs: dict[str, Callable[[], None]] = {}
    for kernel, ending in (("box", ""), ("triangle", ", other kernels")):
        for splitter, (label, targets) in product(("exact", "hist"), _KERNEL_TARGETS.items()):
            jobs[f"{label}, {splitter} search{ending}"] = partial(
                _kernel_model, module, name, common, targets, splitter, kernel
            )
        jobs[f"classes, entropy{ending}"] = partial(_kernel_entropy, module, name, common, kernel)
    return jobs


def _bandwidths(module: str, name: str, common: dict[str, Any], rules: tuple[dict[str, Any], ...]) -> None:
    """Bandwidths that are chosen from the data."""
    for target, rule in product(("two classes", "three classes", "target", "targets"), rules):
        X, y = _table(target)
        _read(_model(module, name, target, **{**common, "max_depth": 3, **rule}).fit(X, y), X)


def _boosting(n_jobs: int, monotonic: bool) -> None:
    common: dict[str, Any] = {"max_iter": 2, "min_mass": 5.0, "max_leaf_nodes": 4, "random_state": 0, "n_jobs": n_jobs}
    if monotonic:
        common["monotonic_cst"] = [1, 0, 0]
    ways: list[dict[str, Any]] = [{"bandwidth": 0.2}, {"bandwidth": 0.0}, {"bandwidth": 0.2, "prediction_kernel": None}]
    for target, way in product(
        ("two classes", "target") if monotonic else ("two classes", "three classes", "target"), ways
    ):
        X, y = _table(target)
        for rows in (X, _locked(X)):
            model = _model("softwood.density.boosting", "KernelBoosting", target, **common, **way)
            _read(model.fit(rows, y, 1.0 + np.arange(len(y)) % 3), X)


def _boosting_of_many_rows() -> None:
    X, y = _table("target", _MANY)
    for bandwidth, constraint in product((0.0, 0.2), (None, [1, 0, 0])):
        _model(
            "softwood.density.boosting", "KernelBoosting", "target", max_iter=1, max_leaf_nodes=3, n_jobs=2,
            bandwidth=bandwidth, monotonic_cst=constraint, early_stopping=False,
        ).fit(X, y)  # fmt: skip


_BOOSTING: dict[str, Callable[[], None]] = {
    "one thread": partial(_boosting, 1, False),
    "threads": partial(_boosting, 2, False),
    "monotonic": partial(_boosting, 1, True),
    "monotonic, threads": partial(_boosting, 2, True),
    "many rows": _boosting_of_many_rows,
}


# Kernel models that grow by levels, here and on clusters


def _levels(home: str, name: str, parameters: dict[str, Any]) -> None:
    targets = ("two classes", "three classes", "target") + (() if name == "KernelBoosting" else ("shares", "targets"))
    for target, bandwidth in product(targets, (0.2, 0.0)):
        X, y = _table(target)
        model = _model(home, name, target, growth="level", bandwidth=bandwidth, random_state=0, **parameters)
        _read(model.fit(X, y), X)


_LEVELS: dict[str, Callable[[], None]] = {
    "trees": partial(_levels, "softwood.density.tree", "KernelTree", {"max_depth": 2}),
    "extra trees": partial(
        _levels, "softwood.density.forest", "KernelExtraTrees", {"max_depth": 2, "n_estimators": 2, "bootstrap": True}
    ),
    "boosting": partial(_levels, "softwood.density.boosting", "KernelBoosting", {"max_iter": 2, "min_mass": 5.0}),
}


# Trees trained by gradient descent


def _gradient(module: str, name: str, targets: tuple[str, ...], ways: tuple[dict[str, Any], ...]) -> None:
    for target, way in product(targets, ways):
        X, y = _table(target)
        model = _model(f"softwood.gradient.{module}", name, target, random_state=0, **way)
        _read(model.fit(X, y, 1.0 + np.arange(len(y)) % 3), X)


def _gradient_jobs(module: str, name: str, *ways: dict[str, Any]) -> dict[str, Callable[[], None]]:
    """One job: most of the code is the same for classes and targets."""
    targets: tuple[str, ...] = ("two classes", "three classes", "target", "targets")
    if name == "LinearDiscriminantTree":
        targets = targets[:2]
    return {"classes and targets": partial(_gradient, module, name, targets, ways)}


# Trees on streams


def _stream(module: str, name: str, target: str, way: dict[str, Any]) -> None:
    X, y = _table(target, 1500)
    model = _model(f"softwood.stream.{module}", name, target, **way)
    if target == "target":
        model.partial_fit(X, y)
    else:
        model.partial_fit(X, y, classes=np.unique(y))
    _read(model, X)
    if find_spec("river") is not None:
        _learn_dicts(name, target, way, X, y)


def _learn_dicts(name: str, target: str, way: dict[str, Any], X: np.ndarray, y: np.ndarray) -> None:
    """Rows as river has them, with features, categories and labels that come later."""
    names = {"random_state": "seed"}
    model = _model("softwood.stream.river", name, target, **{names.get(key, key): way[key] for key in way})
    for number, (row, answer) in enumerate(zip(X[:600].tolist(), y[:600].tolist(), strict=True)):
        x: dict[str, Any] = dict(zip("abc", row, strict=True))
        if number > 100:
            x["d"] = "uvw"[number % (2 if number < 200 else 3)]
        model.predict_one(x)
        model.learn_one(x, answer)
    model.snapshot()


def _stream_jobs(module: str, name: str, **way: Any) -> dict[str, Callable[[], None]]:
    return {
        "classes": partial(_stream, module, name, "three classes", way),
        "targets": partial(_stream, module, name, "target", way),
    }


def _generators() -> None:
    from softwood.stream import LED, SEA, Agrawal, Hyperplane, OversampledClasses, RandomRBF

    X, y = _table("three classes")
    streams: list[Any] = [
        SEA(seed=0),
        Hyperplane(seed=0),
        Hyperplane(magnitude=0.01, seed=0),
        RandomRBF(seed=0),
        RandomRBF(speed=0.01, seed=0),
        Agrawal(seed=0),
        LED(seed=0),
        OversampledClasses(X, y, n_samples=1000, seed=0),
    ]
    for stream in streams:
        stream.take(300)


_DESCENT = {"max_leaf_nodes": 3, "max_iter": 2, "refine_max_iter": 2}

# The kinds of problems of each family; the most common kind comes first, because the others share code with it.
JOBS: dict[str, dict[str, Callable[[], None]]] = {
    "finished-trees": _FINISHED,
    "kernel-tree": {
        **_kernel_jobs("softwood.density.tree", "KernelTree", _TREE),
        "chosen bandwidths": partial(
            _bandwidths, "softwood.density.tree", "KernelTree", _TREE,
            ({"bandwidth": "auto"}, {"bandwidth": "loo"}, {"bandwidth_per_node": True}),
        ),
    },
    "extra-trees": _kernel_jobs("softwood.density.forest", "KernelExtraTrees", _FOREST),
    "boosting": _BOOSTING,
    "by-levels": _LEVELS,
    "soft-tree": _gradient_jobs(
        "soft_tree", "SoftTree", _DESCENT,
        {**_DESCENT, "init": "random", "l1_regularization": 0.01, "l2_regularization": 0.01}
    ),
    "one-stage": _gradient_jobs(
        "one_stage", "OneStageTree", {"max_depth": 2, "max_iter": 2},
        *({"max_depth": 2, "max_iter": 5, "architecture": mode} for mode in ("proximal", "joint", "gumbel")),
    ),
    "hoeffding": _stream_jobs("hoeffding", "HoeffdingTree", grace_period=50),
    "soft-hoeffding": _stream_jobs("soft_hoeffding", "SoftHoeffdingTree", random_state=0),
    "budding": _gradient_jobs("budding", "BuddingTree", {"max_depth": 2, "max_iter": 3}),
    "end-to-end": _gradient_jobs(
        "end_to_end", "EndToEndTree", {"max_depth": 2, "level_max_iter": 2, "max_iter": 3}
    ),
    "generators": {"streams": _generators},
    "kernel-forest": {
        **_kernel_jobs("softwood.density.forest", "KernelForest", _FOREST),
        "chosen bandwidths": partial(
            _bandwidths, "softwood.density.forest", "KernelForest", {**_FOREST, "n_estimators": 4},
            ({"bandwidth": "auto", "oob_score": True},),
        ),
    },
    "one-stage-forest": _gradient_jobs(
        "one_stage_forest", "OneStageForest",
        *(
            {"n_estimators": 2, "max_depth": 2, "tree_parameters": {"max_iter": 3, **way}}
            for way in ({}, {"architecture": "proximal"})
        ),
    ),
    "smooth-step": _stream_jobs("smooth_step", "SmoothStepTree", max_depth=2, random_state=0),
    "stream-forest": _stream_jobs("forest", "StreamForest", n_estimators=4, random_state=0),
    "discriminant": _gradient_jobs("discriminant", "LinearDiscriminantTree", {}),
}  # fmt: skip


def run_job(family: str, kind: str) -> None:
    """Fit and read the models of a kind."""
    JOBS[family][kind]()
