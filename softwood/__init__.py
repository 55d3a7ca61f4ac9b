"""softwood: soft decision trees.

Three families of learners grow trees in different ways. All of them produce a finished `SoftTree`, and everything after
growing is written once, for this class. Names are loaded on first use, so importing softwood is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softwood.explanations.certificates import certified_radius, certify
    from softwood.explanations.contributions import gate_contributions
    from softwood.explanations.explanation import explain
    from softwood.explanations.nodes import node_table
    from softwood.explanations.shapley import ShapleyValues, shapley_values
    from softwood.explanations.text import export_text
    from softwood.files.saving import load, save
    from softwood.gradient.budding import BuddingTreeClassifier, BuddingTreeRegressor
    from softwood.gradient.discriminant import LinearDiscriminantTreeClassifier
    from softwood.gradient.end_to_end import EndToEndTreeClassifier, EndToEndTreeRegressor
    from softwood.gradient.one_stage import AS_PUBLISHED, OneStageTreeClassifier, OneStageTreeRegressor
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
    from softwood.plots.boosting import plot_loss, plot_search
    from softwood.plots.nodes import plot_gate_contributions, plot_importances, plot_leaf_distribution
    from softwood.plots.shapley import plot_shapley, plot_shapley_dependence, plot_shapley_summary
    from softwood.plots.size import plot_size_path
    from softwood.plots.stream import plot_growth, plot_stream_tree
    from softwood.plots.surface import plot_surface
    from softwood.plots.tree import plot_tree
    from softwood.reporting.report import report
    from softwood.softened import soften
    from softwood.trees.forest import SoftForest
    from softwood.trees.gates import Gate
    from softwood.trees.tree import SoftTree

__version__ = "0.1.0"

_HOME = {
    "AS_PUBLISHED": "softwood.gradient.one_stage",
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
    "ShapleyValues": "softwood.explanations.shapley",
    "SoftForest": "softwood.trees.forest",
    "SoftTree": "softwood.trees.tree",
    "SoftTreeClassifier": "softwood.gradient.soft_tree",
    "SoftTreeRegressor": "softwood.gradient.soft_tree",
    "certified_radius": "softwood.explanations.certificates",
    "certify": "softwood.explanations.certificates",
    "explain": "softwood.explanations.explanation",
    "export_text": "softwood.explanations.text",
    "gate_contributions": "softwood.explanations.contributions",
    "load": "softwood.files.saving",
    "node_table": "softwood.explanations.nodes",
    "plot_gate_contributions": "softwood.plots.nodes",
    "plot_growth": "softwood.plots.stream",
    "plot_importances": "softwood.plots.nodes",
    "plot_leaf_distribution": "softwood.plots.nodes",
    "plot_loss": "softwood.plots.boosting",
    "plot_search": "softwood.plots.boosting",
    "plot_shapley": "softwood.plots.shapley",
    "plot_shapley_dependence": "softwood.plots.shapley",
    "plot_shapley_summary": "softwood.plots.shapley",
    "plot_size_path": "softwood.plots.size",
    "plot_stream_tree": "softwood.plots.stream",
    "plot_surface": "softwood.plots.surface",
    "plot_tree": "softwood.plots.tree",
    "report": "softwood.reporting.report",
    "save": "softwood.files.saving",
    "shapley_values": "softwood.explanations.shapley",
    "soften": "softwood.softened",
}

__all__ = [
    "AS_PUBLISHED",
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
    "ShapleyValues",
    "SoftForest",
    "SoftTree",
    "SoftTreeClassifier",
    "SoftTreeRegressor",
    "certified_radius",
    "certify",
    "explain",
    "export_text",
    "gate_contributions",
    "load",
    "node_table",
    "plot_gate_contributions",
    "plot_growth",
    "plot_importances",
    "plot_leaf_distribution",
    "plot_loss",
    "plot_search",
    "plot_shapley",
    "plot_shapley_dependence",
    "plot_shapley_summary",
    "plot_size_path",
    "plot_stream_tree",
    "plot_surface",
    "plot_tree",
    "report",
    "save",
    "shapley_values",
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
