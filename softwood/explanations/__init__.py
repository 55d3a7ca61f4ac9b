"""Explanations of fitted models: Shapley values, certificates, tables of nodes, and what `softwood.explain` returns."""

from softwood.explanations.certificates import Certificates, certified_radius, certify
from softwood.explanations.contributions import gate_contributions
from softwood.explanations.explanation import Explanation, LeafShare
from softwood.explanations.nodes import node_table
from softwood.explanations.shapley import ShapleyValues, shapley_values

__all__ = [
    "Certificates",
    "Explanation",
    "LeafShare",
    "ShapleyValues",
    "certified_radius",
    "certify",
    "gate_contributions",
    "node_table",
    "shapley_values",
]
