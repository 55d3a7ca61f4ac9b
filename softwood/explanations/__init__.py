"""Explanations of fitted models: Shapley values, certificates, measurement errors, tables, and `Explanation`."""

from softwood.explanations.certificates import Certificates, certified_radius, certify
from softwood.explanations.contributions import gate_contributions
from softwood.explanations.error_costs import ErrorBudget, error_budget
from softwood.explanations.explanation import Explanation, LeafShare
from softwood.explanations.nodes import node_table
from softwood.explanations.shapley import ShapleyValues, shapley_values

__all__ = [
    "Certificates",
    "ErrorBudget",
    "Explanation",
    "LeafShare",
    "ShapleyValues",
    "certified_radius",
    "certify",
    "error_budget",
    "gate_contributions",
    "node_table",
    "shapley_values",
]
