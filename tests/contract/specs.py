"""One spec for each estimator: settings that make it quick, and for each parameter what is wrong and what it changes.

A new estimator is one more spec, and gets all tests of this folder. A new parameter without an entry in `wrong`, and in
`changes` or `unseen`, fails `test_every_parameter_has_its_place`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import softwood
from softwood import stream

CLASSES = np.array(["ant", "bee", "cow"])


@dataclass(frozen=True)
class Change:
    """A value that changes the model: other settings that it needs, and where the change is seen."""

    value: Any
    given: dict[str, Any] = field(default_factory=dict)
    seen: str = "answer"


def change(value: Any, seen: str = "answer", **given: Any) -> Change:
    return Change(value, given, seen)


@dataclass(frozen=True)
class Spec:
    """What the tests must know of an estimator.

    Attributes
    ----------
    small : settings that make it quick;  checked : those for scikit-learn's checks
    wrong : for each parameter, values that are refused
    changes : for each parameter, a value or a `Change` that must change the model
    unseen : parameters that change no model, with the reason, or the test that sees what they do
    further : for some parameters, values that are tried in pairs in addition to the one in `changes`
    refused : pairs of parameters of which some values are refused together
    long : settings of a model that has to be good
    n_rows : rows of the tables by which changes are seen
    depth_factor : how much deeper than `max_depth` a finished tree may be
    known_failures : checks of scikit-learn's that cannot hold, with the reason
    ways : settings that take a fit along other paths, on which odd data and what must not matter are tried
    """

    model_class: type
    small: dict[str, Any]
    wrong: dict[str, list[Any]]
    changes: dict[str, Any]
    unseen: dict[str, str]
    further: dict[str, list[Any]] = field(default_factory=dict)
    refused: tuple[tuple[str, str], ...] = ()
    checked: dict[str, Any] = field(default_factory=dict)
    long: dict[str, Any] = field(default_factory=dict)
    n_rows: int = 200
    depth_factor: int = 1
    known_failures: dict[str, str] = field(default_factory=dict)
    ways: tuple[dict[str, Any], ...] = ({},)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.model_class.__name__

    @property
    def is_stream(self) -> bool:
        return self.name in stream.__all__

    @property
    def is_classifier(self) -> bool:
        return self.name.endswith("Classifier")

    @property
    def is_kernel(self) -> bool:
        return self.name.startswith("Kernel")

    @cached_property
    def parameters(self) -> set[str]:
        return set(inspect.signature(self.model_class).parameters)

    def takes(self, argument: str) -> bool:
        """Whether `fit` has this argument."""
        return argument in inspect.signature(self.model_class.fit).parameters

    def make(self, **parameters: Any) -> Any:
        """The estimator with quick settings."""
        return self.model_class(**{**self.small, **parameters})

    def table(self, n: int = 120, seed: int = 0, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
        """Rows of four columns, and targets that depend on two of them."""
        X = np.random.default_rng(seed).normal(size=(n, 4))
        return X, self.targets(X[:, 0] + X[:, 1] * (X[:, 0] > 0), n_classes)

    def targets(self, signal: np.ndarray, n_classes: int = 3) -> np.ndarray:
        """The signal, or words for how large it is."""
        if not self.is_classifier:
            return np.asarray(signal)
        return CLASSES[np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))]

    def classes(self, y: np.ndarray) -> dict[str, Any]:
        """What the first call of `partial_fit` needs besides the rows."""
        return {"classes": np.unique(y)} if self.is_classifier else {}

    def fitted(self) -> Any:
        """A model of `table`, shared by all tests: look at it, and change nothing."""
        return _fitted(self.name)


@cache
def _fitted(name: str) -> Any:
    spec = BY_NAME[name]
    return spec.make().fit(*spec.table())


# ------------------------------------------------------------------ values that are wrong

POSITIVE = [0.0, -1.0, None, np.nan, np.inf, "x", True]
NOT_NEGATIVE = [-0.1, None, np.nan, np.inf, "x", True]
COUNT = [0, -1, 2.0, None, "x", True]
COUNT_OR_NONE = [0, -1, 2.0, "x", True]
FROM_ZERO_OR_NONE = [-1, 2.0, "x", True]
FLAG = [1, 0, None, "yes"]
NAME = ["nonsense", None, 1, True]
PART = [-0.1, 1.5, None, np.nan, "x"]
VALIDATION_PART = [0.0, 0.95, 3, None, "x"]

# ------------------------------------------------------------------ what all estimators share

# of those parameters that an estimator has
SHARED = {
    "known_failures": {},
    "small": {"random_state": 0},
    "wrong": {
        "categorical_features": ["all", [5], ["x"], [True], 3, object(), [1.0], np.zeros((2, 2))],
        "class_weight": ["heavy", 3, [1, 2]],
        "dates": ["all", None, True],
        "handle_unknown": ["ignore", None, True],
        "random_state": ["x", -1, 1.5],
        "verbose": [-1, 0.5, None, "x"],
    },
    "changes": {"categorical_features": [3], "class_weight": {"ant": 5.0, "bee": 1.0}, "random_state": 7},
    "unseen": {
        "dates": "test_dates: columns of dates become days, and parts that vary",
        "handle_unknown": "test_inputs: rows with unknown categories are errors",
        "n_jobs": "test_threads: the same bits for any number",
        "verbose": "test_progress: it prints",
        "warm_start": "test_warm_start: the next fit goes on with the last",
    },
    "further": {
        "class_weight": ["balanced"],
        "dates": ["days"],
        "handle_unknown": ["error"],
        "n_jobs": [2],
        "verbose": [1],
        "warm_start": [True],
    },
}


def both(family: str, *, classifier: Any = None, regressor: Any = None, **of_both: Any) -> list[Spec]:
    """Specs of a classifier and its regressor, if there is one; what is for one of them adds to what is for both."""
    found = []
    for kind, own in (("Classifier", classifier or {}), ("Regressor", regressor or {})):
        model_class = getattr(softwood, family + kind, getattr(stream, family + kind, None))
        if model_class is None:
            continue
        parameters = inspect.signature(model_class).parameters
        parts = {
            part: {name: value for name, value in shared.items() if name in parameters}
            | of_both.get(part, {})
            | own.get(part, {})
            for part, shared in SHARED.items()
        }
        refused = of_both.get("refused", ()) + own.get("refused", ())
        found.append(Spec(model_class=model_class, **of_both | parts | {"refused": refused}))
    return found


# ------------------------------------------------------------------ kernel trees

KERNEL_WRONG = {
    "bandwidth": [-1.0, np.nan, "wide", None, [0.1], {"x": 0.1}],
    "prediction_kernel": ["square", 3, {0: "square"}],
    "prediction_bandwidth": [-1.0, "wide", None, [0.1]],
    "bandwidth_unit": ["cm", None],
    "measurement_error": [0.5, "bogus", {"x": 1.0}, {0: "wide"}, [-1.0, 0.0], ["a", "b"]],
    "max_bins": [1, 256, 10.0, None],
    "max_depth": COUNT_OR_NONE,
    "min_mass": POSITIVE,
    "min_gain": NOT_NEGATIVE,
    "max_leaf_nodes": [1, 0, 2.5, True],
    "max_features": [0, -1, 0.0, 1.5, "all", True],
    "cutoff": [-1e-9, 0.2, None],
    "growth": ["leaf", None, 3],
    "n_jobs": ["x", 0, 1.5, True, [1]],
}
SEARCHED_WRONG = KERNEL_WRONG | {
    "kernel": ["square", None, 3, {0: "square"}, {9: "box"}],
    "criterion": ["log_loss", None, 1],
    "splitter": ["best", None, 1],
    "ccp_alpha": NOT_NEGATIVE,
    "cv": [1, 0],
}
KERNEL_CHANGES = {
    "bandwidth": 0.1,
    "prediction_kernel": None,
    "prediction_bandwidth": 0.05,
    "bandwidth_unit": change("absolute", bandwidth=0.5),
    "measurement_error": {0: 0.5},
    "max_depth": 2,
    "min_mass": 15.0,
    "min_gain": 0.02,
    "max_leaf_nodes": 3,
    "max_features": 1,
    "cutoff": 0.1,
    "growth": change("level", max_leaf_nodes=4),
}
SEARCHED_CHANGES = KERNEL_CHANGES | {
    "growth": change("level", max_bins=5),
    "kernel": "triangle",
    "splitter": change("hist", max_bins=5),
    "max_bins": change(5, splitter="hist"),
    "ccp_alpha": 0.02,
    "cv": change([(np.arange(8), np.arange(8, 200))], bandwidth="cv"),
}
KERNEL_FURTHER = {
    "bandwidth": ["auto", "silverman", "loo", {0: 0.2}, [0.1, 0.0, 0.2, 0.3]],
    "prediction_kernel": ["triangle"],
    "max_leaf_nodes": [None],
    "max_features": ["sqrt", 0.5],
    "measurement_error": [[0.1, 0.0, 0.2, 0.0]],
}
SEARCHED_FURTHER = KERNEL_FURTHER | {
    "bandwidth": [*KERNEL_FURTHER["bandwidth"], "cv"],
    "kernel": ["gaussian", {0: "triangle"}],
    "splitter": ["exact"],
    "cv": [2],
}
SEARCHED_REFUSED = (("growth", "splitter"), ("growth", "cv"))

RULES = tuple({"bandwidth": rule} for rule in ("auto", "cv", "silverman", "loo"))

SPECS = both(
    "KernelTree",
    small={"bandwidth": 0.3, "refine": False, "trend": None},
    ways=(
        *({}, *RULES, {"growth": "level"}, {"bandwidth": 0.0, "splitter": "hist"}, {"kernel": "gaussian"}),
        {"refine": "auto", "trend": "auto"},
        {"max_leaf_nodes": 4, "refine": 3, "trend": "linear"},
        {"bandwidth": "silverman", "bandwidth_per_node": True},
    ),
    further=SEARCHED_FURTHER | {"max_leaf_nodes": ["auto", "small", None], "refine": ["auto", True], "trend": ["auto"]},
    refused=(
        *SEARCHED_REFUSED,
        ("growth", "max_leaf_nodes"),
        *[("bandwidth_per_node", name) for name in ("bandwidth", "growth", "max_leaf_nodes", "measurement_error")],
        ("refine", "bandwidth_per_node"),
    ),
    wrong=SEARCHED_WRONG | {"bandwidth_per_node": FLAG, "refine": [-1, 0.5, "yes", None], "trend": [True, 1, "cubic"]},
    changes=SEARCHED_CHANGES
    | {
        "bandwidth_per_node": change(True, bandwidth="silverman"),
        "random_state": change(1, max_features=2),
        "refine": change(5, max_leaf_nodes=4),
        "trend": change("linear", max_leaf_nodes=4),
    },
    classifier={
        "wrong": {"merge_equal": FLAG},
        "refused": (("trend", "merge_equal"),),
        "changes": {
            "criterion": "entropy",
            "merge_equal": change(True, prediction_kernel=None, max_leaf_nodes=None),
            "cv": change([(np.arange(20), np.arange(20, 200))], bandwidth="cv"),
        },
    },
    regressor={"unseen": {"criterion": "there is only one"}},
)

FOREST_WRONG = SEARCHED_WRONG | {
    "n_estimators": COUNT,
    "bootstrap": FLAG,
    "max_samples": [0, 5000, 0.0, 1.5, "all", True, False, np.nan],
    "oob_score": [1, "yes", None],
    "warm_start": FLAG,
}
FOREST_CHANGES = SEARCHED_CHANGES | {
    "n_estimators": 3,
    "max_samples": change(0.3, bootstrap=True),
    "oob_score": change(True, seen="oob_score_", bootstrap=True, n_estimators=20),
}
FOREST_FURTHER = SEARCHED_FURTHER | {
    "bandwidth": [*SEARCHED_FURTHER["bandwidth"], "oob"],
    "max_samples": [change(9, bootstrap=True)],
}
FOREST_REFUSED = (*SEARCHED_REFUSED, ("growth", "oob_score"))
for family in ("KernelForest", "KernelExtraTrees"):
    SPECS += both(
        family,
        small={"n_estimators": 4, "bandwidth": 0.3},
        # extra trees have most of their code in common with forests
        ways=({}, {"bandwidth": "auto"}, {"growth": "level"})
        + (
            ()
            if family == "KernelExtraTrees"
            else (*RULES[1:], {"bandwidth": "oob"}, {"bandwidth": 0.0, "splitter": "hist"})
        ),
        # Without a bag, choosing a bandwidth takes longer; that of forests with a bag is chosen here, too.
        checked={"n_estimators": 5} | ({} if family == "KernelForest" else {"bandwidth": 0.3}),
        wrong=FOREST_WRONG,
        changes=FOREST_CHANGES | {"bootstrap": family == "KernelExtraTrees"},
        further=FOREST_FURTHER,
        refused=FOREST_REFUSED
        + (() if family == "KernelExtraTrees" else (("bootstrap", "max_samples"), ("bootstrap", "oob_score"))),
        classifier={
            "changes": {"criterion": "entropy"},
            "further": {"class_weight": ["balanced", "balanced_subsample"]},
            "refused": (("growth", "class_weight"),),
        },
        regressor={
            "wrong": {"refine": [1, "yes", None]},
            "changes": {"refine": change(True, bootstrap=True)},
            "unseen": {"criterion": "there is only one"},
            "refused": (("growth", "refine"), *([("bootstrap", "refine")] if family == "KernelForest" else [])),
        },
    )

STOPPING = {"early_stopping": True, "max_iter": 200}


def _worst_first(model, X, y):
    """A score that stops at once."""
    return 0.0


SPECS += both(
    "KernelBoosting",
    small={"max_iter": 5, "min_mass": 3.0, "bandwidth": 0.3},
    ways=(
        *({}, *(way for way in RULES if way["bandwidth"] != "cv"), {"bandwidth": 0.0}, {"growth": "level"}),
        *({"subsample": 0.5}, {"subsample": 0.5, "max_features": 2, "bandwidth": 0.0}),
        {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 3},
        {"multi_strategy": "multi_output_tree"},
        {"trend": "linear", "bandwidth": 0.0},
    ),
    # with the defaults, five rounds learn too little
    checked={"max_iter": 5, "min_mass": 5.0, "l2_regularization": 0.0},
    long={"max_iter": 100},
    wrong=KERNEL_WRONG
    | {
        "bandwidth": [-1.0, np.nan, "wide", "cv", None, [0.1], {"x": 0.1}],
        "loss": NAME,
        "learning_rate": POSITIVE,
        "multi_strategy": NAME,
        "max_iter": COUNT,
        "bandwidth_decay": [0.0, 1.5, None],
        "crisp_every": [-1, 1.5, None, "often"],
        "trend": [True, 1, "cubic"],
        "l2_regularization": NOT_NEGATIVE,
        "subsample": [0.0, 1.5, None],
        "quality": NAME,
        "monotonic_cst": [[1], "rising"],
        "early_stopping": ["yes", 1, None],
        "validation_fraction": VALIDATION_PART,
        "n_iter_no_change": COUNT,
        "scoring": ["speed", 1],
        "tol": NOT_NEGATIVE,
    },
    changes=KERNEL_CHANGES
    | {
        "min_gain": 5.0,
        "max_bins": 4,
        "learning_rate": 0.3,
        "max_iter": 3,
        "bandwidth_decay": 0.7,
        "crisp_every": 2,
        "trend": "linear",
        "l2_regularization": 10.0,
        "subsample": 0.5,
        "monotonic_cst": [-1, 0, 0, 0],
        "quality": "best",
        "early_stopping": True,
        "validation_fraction": change(0.5, early_stopping=True),
        "n_iter_no_change": Change(1, STOPPING),
        "scoring": Change(_worst_first, STOPPING),
        "tol": Change(0.5, STOPPING),
        "random_state": change(1, subsample=0.5),
    },
    further=KERNEL_FURTHER
    | {
        "max_iter": ["auto"],
        "max_leaf_nodes": ["auto", None],
        "min_mass": ["auto"],
        "learning_rate": ["auto"],
        "subsample": ["auto"],
        "quality": ["fast"],
        "l2_regularization": [0.0],
        "early_stopping": [False],
        "scoring": ["neg_mean_squared_error"],
    },
    refused=(
        *[
            ("growth", name)
            for name in ("crisp_every", "prediction_bandwidth", "prediction_kernel", "quality", "scoring")
        ],
        *[(name, "measurement_error") for name in ("bandwidth_decay", "crisp_every")],
        *[
            ("trend", name)
            for name in ("growth", "measurement_error", "monotonic_cst", "prediction_bandwidth", "prediction_kernel")
        ],
    ),
    classifier={
        "unseen": {"loss": "there is only one", "multi_strategy": "two classes: tests/kernel/rounds/test_vectors.py"},
        "further": {"scoring": ["neg_log_loss"]},
        "refused": (("scoring", "class_weight"),),
    },
    regressor={
        "further": {
            "loss": ["poisson"],
            "quantile": [change([0.1, 0.5], loss="quantile")],
            "scoring": [Change("neg_mean_squared_error", STOPPING)],
        },
        "refused": (
            ("multi_strategy", "scoring"),
            ("quantile", "scoring"),
            ("growth", "loss"),
            ("loss", "quantile"),
            ("loss", "trend"),
            ("quantile", "trend"),
            ("monotonic_cst", "multi_strategy"),
            ("monotonic_cst", "quantile"),
        ),
        "wrong": {"quantile": [0.5, 0.0, 1.0, "x"]},
        "changes": {
            "loss": "absolute_error",
            "quantile": change(0.9, loss="quantile", quantile=0.5),
            "multi_strategy": change("multi_output_tree", loss="quantile", quantile=[0.2, 0.8]),
        },
    },
)

# ------------------------------------------------------------------ trees trained by gradient descent

# random gates whose losses go up and down
ROUGH = {"init": "random", "learning_rate_decay": 1.0, "n_learning_rates": 1, "max_iter": 25, "max_leaf_nodes": 8}
ROUGH |= {"refine": False, "min_gain": 0.0, "validation_fraction": 0.5}
SPECS += both(
    "SoftTree",
    small={"max_leaf_nodes": 4, "max_iter": 8, "refine_max_iter": 3},
    long={"max_iter": 25},
    ways=({}, {"refine": False}, {"init": "random"}, {"select": "training", "growth": "depth", "refine": False}),
    wrong={
        "init": NAME,
        "init_slope": POSITIVE,
        "learning_rate": POSITIVE,
        "n_learning_rates": COUNT,
        "learning_rate_decay": [0.0, 1.5, None],
        "max_iter": COUNT,
        "n_iter_no_change": COUNT,
        "select": NAME,
        "validation_fraction": VALIDATION_PART,
        "growth": NAME,
        "max_depth": COUNT_OR_NONE,
        "max_leaf_nodes": [1, 2.5, True],
        "min_gain": [-0.1, 1.5, None],
        "l1_regularization": NOT_NEGATIVE,
        "l2_regularization": NOT_NEGATIVE,
        "refine": FLAG,
        "refine_max_iter": COUNT,
        "refine_learning_rate": POSITIVE,
    },
    changes={
        "init": "random",
        "init_slope": 4.0,
        "learning_rate": 0.02,
        "n_learning_rates": 1,
        "learning_rate_decay": 0.3,
        "max_iter": 1,
        "n_iter_no_change": Change(1, ROUGH),
        "select": "training",
        "validation_fraction": 0.6,
        "growth": change("depth", max_leaf_nodes=8),
        "max_depth": 1,
        "max_leaf_nodes": 2,
        "min_gain": 0.3,
        "l1_regularization": 0.05,
        "l2_regularization": 0.05,
        "refine": False,
        "refine_max_iter": change(1, seen="history_"),
        "refine_learning_rate": change(0.001, seen="history_"),
    },
)

SPECS += both(
    "LinearDiscriminantTree",
    small={},
    ways=({}, {"prune": False}),
    wrong={
        "validation_fraction": VALIDATION_PART,
        "prune": FLAG,
        "max_depth": COUNT_OR_NONE,
        "min_mass": NOT_NEGATIVE,
    },
    changes={"validation_fraction": 0.6, "prune": False, "max_depth": 1, "min_mass": change(30.0, prune=False)},
)

STAGED_WRONG = {
    "validation_fraction": VALIDATION_PART,
    "max_depth": [*COUNT, 17],
    "learning_rate": POSITIVE,
    "max_iter": COUNT,
    "n_iter_no_change": COUNT,
}
STAGED_CHANGES = {
    "validation_fraction": 0.6,
    "max_depth": 1,
    "learning_rate": 0.03,
    "max_iter": change(1, seen="history_"),
    "n_iter_no_change": change(1, seen="history_", max_iter=150),
}
# trained along sampled paths, by a cost that takes the shape away from the complete tree
SEARCHED_SHAPE = {"architecture": "proximal", "split_cost": 0.05, "max_iter": 40}
SPECS += both(
    "OneStageTree",
    small={"max_depth": 3, "max_iter": 8},
    checked={"max_depth": 3},
    long={"max_iter": 200},
    ways=(
        *({}, {"init": "linear"}, {"init": "fitted"}, {"init": "random"}, {"architecture": "joint"}),
        *({"architecture": "proximal"}, {"architecture": "proximal", "init": "random"}),
        {"architecture": "gumbel", "warm_up": 0},
    ),
    wrong=STAGED_WRONG
    | {
        "architecture": NAME,
        "init": NAME,
        "batch_size": COUNT,
        "warm_up": [-1, 1.5, None],
        "architecture_learning_rate": NOT_NEGATIVE,
        "split_cost": NOT_NEGATIVE,
        "prior": POSITIVE,
        "l1_regularization": NOT_NEGATIVE,
        "l2_regularization": NOT_NEGATIVE,
        "warm_start": FLAG,
        "n_jobs": ["x", 0, 1.5, True],
    },
    changes=STAGED_CHANGES
    | {
        "architecture": "joint",
        "init": "random",
        "batch_size": 7,
        "n_iter_no_change": change(1, seen="history_", architecture="proximal", max_iter=150),
        "warm_up": Change(0, SEARCHED_SHAPE, "history_"),
        "architecture_learning_rate": Change(0.0, SEARCHED_SHAPE, "history_"),
        "split_cost": 0.1,
        "prior": 20.0,
        "l1_regularization": change(0.05, architecture="proximal"),
        "l2_regularization": 0.05,
    },
    # few passes are worse than the conventional tree, on which none of these has an effect
    regressor={
        "changes": {
            "batch_size": change(7, init="linear"),
            "l1_regularization": change(0.05, init="linear"),
            "l2_regularization": change(0.05, init="linear"),
            "learning_rate": change(0.001, init="linear"),
            "random_state": change(1, init="linear"),
        }
    },
)
SPECS += both(
    "BuddingTree",
    small={"max_depth": 3, "max_iter": 8},
    long={"max_iter": 200},
    wrong=STAGED_WRONG | {"bud_learning_rate": POSITIVE, "split_cost": NOT_NEGATIVE, "batch_size": COUNT},
    changes=STAGED_CHANGES | {"bud_learning_rate": 0.01, "split_cost": 0.1, "batch_size": 7},
    depth_factor=2,  # a node that is partly a leaf is there as two
)
SPECS += both(
    "EndToEndTree",
    small={"max_depth": 3, "level_max_iter": 3, "max_iter": 8},
    long={"max_iter": 60},
    wrong=STAGED_WRONG | {"level_max_iter": COUNT, "steepness": [0.5, -1.0, None, np.inf], "prior": POSITIVE},
    changes=STAGED_CHANGES | {"level_max_iter": 1, "steepness": 1.0, "prior": 20.0},
)
SPECS += both(
    "OneStageForest",
    small={"n_estimators": 3, "max_depth": 2, "tree_parameters": {"max_iter": 4}},
    checked={"n_estimators": 2, "max_depth": 3},
    long={"tree_parameters": {"prior": 0.5}},  # equal rows count as one row against the prior
    wrong={
        "n_estimators": COUNT,
        "max_depth": [*COUNT, 17],
        "tree_parameters": [{"depth": 3}, {"random_state": 3}, [1], "x"],
        "n_jobs": ["x", 0, 1.5, True],
    },
    changes={"n_estimators": 2, "max_depth": 1, "tree_parameters": {"max_iter": 1}},
)

# ------------------------------------------------------------------ trees that learn from streams

# scikit-learn compares rows of weight 2 with rows that are repeated, and then shuffles these.
IN_ORDER = {
    "check_sample_weight_equivalence_on_dense_data": "a stream is learned in order: a weight of 2 is the row twice in "
    "succession, which tests/stream/test_model.py compares bit for bit"
}
SPLITTING_WRONG = {
    "grace_period": [0.5, -1, None, np.nan, np.inf, "x"],
    "max_depth": FROM_ZERO_OR_NONE,
    "delta": [0.0, 1.5, None, np.nan],
    "tau": NOT_NEGATIVE,
    "min_branch_fraction": [-0.1, 0.6, None],
    "max_inner_nodes": FROM_ZERO_OR_NONE,
    "max_size": [0.0, -1.0, np.nan, "x"],
    "drift_delta": [0.0, 1.5, np.nan, "x"],
    "restart_rise": [-0.1, np.nan, "x"],
}
ALARMS = dict.fromkeys(("drift_delta", "restart_rise"), "tests/stream/test_alarms.py")
SPLITTING_CHANGES = {"grace_period": 150, "max_depth": 1, "min_branch_fraction": 0.45, "max_inner_nodes": 1}
SPECS += both(
    "HoeffdingTree",
    small={"grace_period": 40, "tau": 1.0, "max_depth": 4},
    wrong=SPLITTING_WRONG | {"leaf_prediction": NAME},
    changes=SPLITTING_CHANGES | {"delta": change(1e-3, tau=0.2), "tau": 0.05, "max_size": 0.04},
    n_rows=3000,
    unseen=ALARMS,
    classifier={
        "wrong": {
            "split_criterion": NAME,
            "max_share_to_split": PART,
            "binary_split": FLAG,
            "unseen_values": NAME,
            "inherited_weight": NOT_NEGATIVE,
        },
        "changes": {
            "split_criterion": "gini",
            "leaf_prediction": change("mc", leaf_prediction="nb"),
            "max_share_to_split": 0.4,
            "max_size": 0.012,
        },
        "unseen": {
            "binary_split": "tests/stream/test_hoeffding.py: only of columns of categories",
            "unseen_values": "tests/stream/test_hoeffding.py: only of naive Bayes, where a class has not shown a value",
            "inherited_weight": "tests/stream/loops/test_hoeffding.py: only of leaves where naive Bayes is right",
        },
    },
    regressor={
        "wrong": {"learning_rate": [0.0, -1.0, 1.5, None, np.nan], "model_selector_decay": PART},
        "changes": {"leaf_prediction": "mean", "learning_rate": 0.5, "model_selector_decay": 0.1},
    },
)
SOFT_WRONG = {
    "gamma": POSITIVE,
    "learning_rate": POSITIVE,
    "bias": FLAG,
    "batch_size": COUNT,
    "scaler_memory": [0.5, np.nan, "x"],
    "outlier_limit": [0.5, np.nan, "x"],
}
SOFT_CHANGES = {"gamma": 2.0, "learning_rate": 0.1, "batch_size": 5, "scaler_memory": 30.0, "outlier_limit": 1.5}
SPECS += both(
    "SoftHoeffdingTree",
    small={"grace_period": 40, "tau": 1.0, "max_depth": 4},
    wrong=SPLITTING_WRONG
    | SOFT_WRONG
    | {
        "alpha": PART,
        "min_share": PART,
        "weigh_by_share": FLAG,
        "gate_init": NOT_NEGATIVE,
        "leaf_init": NOT_NEGATIVE,
        "alpha_learning_rate": NOT_NEGATIVE,
        "alpha_pull": NOT_NEGATIVE,
        "recheck_period": [0.5, np.nan, "x"],
        "count_period": NOT_NEGATIVE,
        "merit_range": NAME,
    },
    changes=SPLITTING_CHANGES
    | SOFT_CHANGES
    | {
        "delta": change(0.5, tau=0.0),
        "tau": 0.05,
        "max_size": 0.04,
        "bias": change(False, gate_init=0.0),
        "alpha": 0.9,
        "min_share": 0.6,
        "weigh_by_share": False,
        "gate_init": 1.0,
        "leaf_init": 0.0,
        "alpha_learning_rate": 0.0,
        "alpha_pull": 1.0,
        "recheck_period": change(50.0, delta=0.9),
    },
    n_rows=1500,
    known_failures=IN_ORDER,
    refused=(("bias", "gate_init"),),
    classifier={
        "changes": {"count_period": 0.0},
        "unseen": {"merit_range": "tests/stream/test_many_classes.py: the same for two classes"},
    },
    unseen=ALARMS,
    regressor={"unseen": dict.fromkeys(("count_period", "merit_range"), "regressors take what as_published gives")},
)
SPECS += both(
    "SmoothStepTree",
    small={"max_depth": 3},
    wrong=SOFT_WRONG | {"max_depth": [*COUNT, 13]},
    changes=SOFT_CHANGES | {"max_depth": 2, "bias": True},
    n_rows=400,
    known_failures=IN_ORDER,
)

IN_ORDER_AND_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "a tree of a forest draws how often it learns a row by the number "
    "of the row, of which a repeated row has two"
}
IN_FOREST = {"grace_period": 40, "tau": 1.0}
SPECS += both(
    "StreamForest",
    # without votes and models in leaves, so that the finished trees say what the model says
    small={"n_estimators": 3, "soft_share": 1.0, "voting": "mean", "max_depth": 4, "soft_parameters": IN_FOREST},
    checked={"n_estimators": 4},
    long={"soft_parameters": None},
    wrong={
        "n_estimators": COUNT,
        "max_depth": FROM_ZERO_OR_NONE,
        "soft_share": PART,
        "mean_draws": [*POSITIVE, 101.0],
        "max_features": [0.0, 1.5, None, "sqrt"],
        "warning_delta": [0.0, 1.5, "x"],
        "drift_delta": [0.0, 1.5, "x"],
        "voting": NAME,
        "vote_window": [0.5, None, np.inf],
        "adjust_votes": FLAG,
        "soft_parameters": [{"depth": 3}, {"random_state": 3}, {"drift_delta": 0.1}, [1], "x", {"max_depth": -1}],
        "crisp_parameters": [{"alpha": 0.3}, {"class_weight": None}, [1], "x", {"grace_period": 0}],
        "max_size": [0.0, -1.0, np.nan, "x"],
        "n_jobs": ["x", 0, 1.5, True],
    },
    changes={
        "n_estimators": 2,
        "soft_share": 0.0,
        "mean_draws": 1.0,
        "max_depth": 1,
        "max_features": change(0.3, soft_share=0.0),
        "voting": "loss",
        "vote_window": change(2.0, voting="loss"),
        "soft_parameters": {"max_depth": 1},
        "crisp_parameters": change({"max_depth": 1}, soft_share=0.0),
        "max_size": 0.1,
    },
    unseen={
        "warning_delta": "tests/stream/test_forest.py: spare trees after a drift",
        "drift_delta": "tests/stream/test_forest.py: replaced trees after a drift",
    },
    classifier={"changes": {"adjust_votes": change(False, voting="loss")}},
    regressor={"unseen": {"adjust_votes": "tests/stream/test_forest.py: only where errors last"}},
    n_rows=3000,
    known_failures=IN_ORDER_AND_DRAWN,
)

# ------------------------------------------------------------------ which tests run over which

BY_NAME = {spec.name: spec for spec in SPECS}
BATCH = [spec for spec in SPECS if not spec.is_stream]


def over(specs: list[Spec]) -> Any:
    """Run a test for each of these."""
    return pytest.mark.parametrize("spec", specs, ids=str)


def over_ways(specs: list[Spec]) -> Any:
    """Run a test for each of these, along each of its ways."""
    cases = [(spec, way) for spec in specs for way in spec.ways]
    ids = ["-".join([spec.name, *map(str, way.values())]) for spec, way in cases]
    return pytest.mark.parametrize(("spec", "way"), cases, ids=ids)


every = over(SPECS)
every_batch = over(BATCH)
every_kernel = over([spec for spec in SPECS if spec.is_kernel])
every_classifier = over([spec for spec in SPECS if spec.is_classifier])
every_regressor = over([spec for spec in SPECS if not spec.is_classifier])
every_with_jobs = over([spec for spec in SPECS if "n_jobs" in spec.parameters])
every_validated = over([spec for spec in SPECS if spec.takes("X_val")])
