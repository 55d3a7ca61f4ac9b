"""softwood: soft decision trees.

Three families of learners grow trees in different ways. All of them produce a finished `SoftTree`, and everything after
growing is written once, for this class. Names are loaded on first use, so importing softwood is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softwood.explanations.explaining import explain
    from softwood.explanations.text import export_text
    from softwood.files.saving import load, read_metadata, save
    from softwood.gradient.budding import BuddingTreeClassifier, BuddingTreeRegressor
    from softwood.gradient.discriminant import LinearDiscriminantTreeClassifier
    from softwood.gradient.end_to_end import EndToEndTreeClassifier, EndToEndTreeRegressor
    from softwood.gradient.one_stage import OneStageTreeClassifier, OneStageTreeRegressor
    from softwood.gradient.one_stage_forest import OneStageForestClassifier, OneStageForestRegressor
    from softwood.gradient.soft_tree import SoftTreeClassifier, SoftTreeRegressor
    from softwood.kernel.boosting import KernelBoostingClassifier, KernelBoostingRegressor
    from softwood.kernel.data.kernels import Kernel
    from softwood.kernel.forest import (
        KernelExtraTreesClassifier,
        KernelExtraTreesRegressor,
        KernelForestClassifier,
        KernelForestRegressor,
    )
    from softwood.kernel.tree import KernelTreeClassifier, KernelTreeRegressor
    from softwood.reporting.report import report
    from softwood.softened import soften
    from softwood.trees.forest import SoftForest
    from softwood.trees.gates import Gate
    from softwood.trees.tree import SoftTree

__version__ = "0.2.0"

_HOME = {
    "BuddingTreeClassifier": "softwood.gradient.budding",
    "BuddingTreeRegressor": "softwood.gradient.budding",
    "EndToEndTreeClassifier": "softwood.gradient.end_to_end",
    "EndToEndTreeRegressor": "softwood.gradient.end_to_end",
    "Gate": "softwood.trees.gates",
    "Kernel": "softwood.kernel.data.kernels",
    "KernelBoostingClassifier": "softwood.kernel.boosting",
    "KernelBoostingRegressor": "softwood.kernel.boosting",
    "KernelExtraTreesClassifier": "softwood.kernel.forest",
    "KernelExtraTreesRegressor": "softwood.kernel.forest",
    "KernelForestClassifier": "softwood.kernel.forest",
    "KernelForestRegressor": "softwood.kernel.forest",
    "KernelTreeClassifier": "softwood.kernel.tree",
    "KernelTreeRegressor": "softwood.kernel.tree",
    "LinearDiscriminantTreeClassifier": "softwood.gradient.discriminant",
    "OneStageForestClassifier": "softwood.gradient.one_stage_forest",
    "OneStageForestRegressor": "softwood.gradient.one_stage_forest",
    "OneStageTreeClassifier": "softwood.gradient.one_stage",
    "OneStageTreeRegressor": "softwood.gradient.one_stage",
    "SoftForest": "softwood.trees.forest",
    "SoftTree": "softwood.trees.tree",
    "SoftTreeClassifier": "softwood.gradient.soft_tree",
    "SoftTreeRegressor": "softwood.gradient.soft_tree",
    "explain": "softwood.explanations.explaining",
    "export_text": "softwood.explanations.text",
    "load": "softwood.files.saving",
    "read_metadata": "softwood.files.saving",
    "report": "softwood.reporting.report",
    "save": "softwood.files.saving",
    "soften": "softwood.softened",
}

__all__ = [
    "BuddingTreeClassifier",
    "BuddingTreeRegressor",
    "EndToEndTreeClassifier",
    "EndToEndTreeRegressor",
    "Gate",
    "Kernel",
    "KernelBoostingClassifier",
    "KernelBoostingRegressor",
    "KernelExtraTreesClassifier",
    "KernelExtraTreesRegressor",
    "KernelForestClassifier",
    "KernelForestRegressor",
    "KernelTreeClassifier",
    "KernelTreeRegressor",
    "LinearDiscriminantTreeClassifier",
    "OneStageForestClassifier",
    "OneStageForestRegressor",
    "OneStageTreeClassifier",
    "OneStageTreeRegressor",
    "SoftForest",
    "SoftTree",
    "SoftTreeClassifier",
    "SoftTreeRegressor",
    "explain",
    "export_text",
    "load",
    "read_metadata",
    "report",
    "save",
    "soften",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'softwood' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
