"""softwood: soft decision trees.

Three families of learners grow trees in different ways. All of them produce a finished `SoftTree`, and everything after
growing is written once, for this class. Names are loaded on first use, so importing softwood is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softwood.kernel.boosting import KernelBoostingClassifier, KernelBoostingRegressor
    from softwood.kernel.forest import (
        KernelExtraTreesClassifier,
        KernelExtraTreesRegressor,
        KernelForestClassifier,
        KernelForestRegressor,
    )
    from softwood.kernel.data.kernels import Kernel
    from softwood.kernel.tree import KernelTreeClassifier, KernelTreeRegressor
    from softwood.files.saving import load, save
    from softwood.trees.forest import SoftForest
    from softwood.trees.gates import Gate
    from softwood.gradient.budding import BuddingTreeClassifier, BuddingTreeRegressor
    from softwood.gradient.discriminant import LinearDiscriminantTreeClassifier
    from softwood.gradient.end_to_end import EndToEndTreeClassifier, EndToEndTreeRegressor
    from softwood.gradient.one_stage import AS_PUBLISHED, OneStageTreeClassifier, OneStageTreeRegressor
    from softwood.gradient.one_stage_forest import OneStageForestClassifier, OneStageForestRegressor
    from softwood.gradient.soft_tree import SoftTreeClassifier, SoftTreeRegressor
    from softwood.inspect.boosting_figures import plot_loss, plot_search
    from softwood.inspect.certificates import certified_radius, certify
    from softwood.inspect.contributions import gate_contributions
    from softwood.inspect.explanation import explain
    from softwood.inspect.figures import plot_gate_contributions, plot_importances, plot_leaf_distribution
    from softwood.inspect.nodes import node_table
    from softwood.inspect.shapley import ShapleyValues, shapley_values
    from softwood.inspect.shapley_figures import plot_shapley, plot_shapley_dependence, plot_shapley_summary
    from softwood.inspect.size_figure import plot_size_path
    from softwood.inspect.stream_figures import plot_growth, plot_stream_tree
    from softwood.inspect.surface import plot_surface
    from softwood.inspect.text import export_text
    from softwood.inspect.tree_figure import plot_tree
    from softwood.reporting.report import report
    from softwood.softened import soften
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
    "ShapleyValues": "softwood.inspect.shapley",
    "SoftForest": "softwood.trees.forest",
    "SoftTree": "softwood.trees.tree",
    "SoftTreeClassifier": "softwood.gradient.soft_tree",
    "SoftTreeRegressor": "softwood.gradient.soft_tree",
    "certified_radius": "softwood.inspect.certificates",
    "certify": "softwood.inspect.certificates",
    "explain": "softwood.inspect.explanation",
    "export_text": "softwood.inspect.text",
    "gate_contributions": "softwood.inspect.contributions",
    "load": "softwood.files.saving",
    "node_table": "softwood.inspect.nodes",
    "plot_gate_contributions": "softwood.inspect.figures",
    "plot_growth": "softwood.inspect.stream_figures",
    "plot_importances": "softwood.inspect.figures",
    "plot_leaf_distribution": "softwood.inspect.figures",
    "plot_loss": "softwood.inspect.boosting_figures",
    "plot_search": "softwood.inspect.boosting_figures",
    "plot_shapley": "softwood.inspect.shapley_figures",
    "plot_shapley_dependence": "softwood.inspect.shapley_figures",
    "plot_shapley_summary": "softwood.inspect.shapley_figures",
    "plot_size_path": "softwood.inspect.size_figure",
    "plot_stream_tree": "softwood.inspect.stream_figures",
    "plot_surface": "softwood.inspect.surface",
    "plot_tree": "softwood.inspect.tree_figure",
    "report": "softwood.reporting.report",
    "save": "softwood.files.saving",
    "shapley_values": "softwood.inspect.shapley",
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
