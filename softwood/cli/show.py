"""``softwood show``: what a saved model is."""

from __future__ import annotations

import argparse
from math import isfinite
from typing import TYPE_CHECKING, Any

from softwood.cli.arguments import add_general, add_model, add_number
from softwood.cli.errors import UsageError

if TYPE_CHECKING:
    from softwood.fitted import FittedModel

# Columns whose importance is listed.
MOST_COLUMNS = 15


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "show",
        help="parameters, size, important columns and text of a saved model",
        description="Parameters, size and important columns of a saved model, and the text of its tree, or of one of "
        "its trees.",
    )
    add_model(parser)
    add_number(parser, "--depth", 4, "largest depth to print")
    parser.add_argument("--tree", type=int, metavar="N", help="number of the tree of an ensemble to show, from 0")
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Print the model."""
    from softwood.cli.names import load_model, tree_of
    from softwood.cli.printing import in_python, print_json, print_table, print_text
    from softwood.explanations.text import export_text
    from softwood.fitted import FittedModel

    if chosen.depth < 0:
        raise UsageError(f"--depth: must be at least 0, got {chosen.depth}.")
    model = load_model(chosen.model)
    in_python(chosen, "import softwood", f"print(softwood.load({str(chosen.model)!r}))")
    known = FittedModel.of(model, "show")
    is_tree, names = known.n_trees - known.trend == 1, known.outputs.names
    trees = known.tree() if is_tree else known.trees
    facts: dict[str, Any] = {"model": type(model).__name__}
    facts |= {} if is_tree else {"trees": known.n_trees}
    facts |= {"leaves": trees.n_leaves, "depth": trees.max_depth, "columns": len(known.columns.inputs)}
    if known.trend:
        facts["columns with a linear trend"] = known.trend
    if known.outputs.is_class:
        facts["classes"] = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    importances = _importances(known)
    if chosen.json:
        print_json(facts | {"parameters": _parameters(model), "importances": importances})
        return 0
    print_table(("", ""), [*facts.items(), *_changed(model)])
    if importances:
        print_text("")
        rows = sorted(importances.items(), key=lambda item: -item[1])[:MOST_COLUMNS]
        print_table(("column", "importance"), rows)
    if chosen.tree is not None or is_tree:
        tree_of(known, chosen.tree)  # an error that names the option if there is no such tree
        print_text("")
        print_text(export_text(known, tree=chosen.tree, max_depth=chosen.depth))
    return 0


def _importances(known: FittedModel) -> dict[str, float]:
    """Importance of each column; empty if they are not known."""
    found = known.importances.tolist()
    return dict(zip(known.columns.inputs, found, strict=True)) if all(map(isfinite, found)) else {}


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters of an estimator; trees have none."""
    from sklearn.base import BaseEstimator

    return model.get_params(deep=False) if isinstance(model, BaseEstimator) else {}


def _changed(model: Any) -> list[tuple[str, str]]:
    """Parameters that are not the defaults."""
    import inspect

    given = _parameters(model)
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()} if given else {}
    return [(name, repr(value)[:100]) for name, value in given.items() if repr(value) != repr(defaults.get(name))]
