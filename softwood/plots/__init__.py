"""Plots of trees, models, Shapley values, searches and streams. matplotlib is imported when a plot is drawn."""

from softwood.plots.boosting import plot_loss, plot_search
from softwood.plots.contributions import plot_gate_contributions
from softwood.plots.coverage import plot_coverage
from softwood.plots.error_budget import plot_error_budget
from softwood.plots.importances import plot_importances
from softwood.plots.leaves import plot_leaf_distribution
from softwood.plots.shapley import plot_shapley, plot_shapley_dependence, plot_shapley_summary
from softwood.plots.size import plot_size_path
from softwood.plots.stream import plot_growth, plot_stream_tree
from softwood.plots.surface import plot_surface
from softwood.plots.tree import plot_tree

__all__ = [
    "plot_coverage",
    "plot_error_budget",
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
]
