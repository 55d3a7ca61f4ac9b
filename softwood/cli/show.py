"""``softwood show``: what a saved model is."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import add_general, add_model
from softwood.cli.errors import UsageError

__all__ = ["add", "run"]

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
    parser.add_argument(
        "--depth", type=int, default=4, metavar="N", help="largest depth to print (default %(default)s)"
    )
    parser.add_argument("--tree", type=int, metavar="N", help="number of the tree of an ensemble to show, from 0")
    add_general(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the model."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json, print_table, print_text
    from softwood.cli.reading import finished_of, names_of, outputs_of, tree_of
    from softwood.trees.forest import SoftForest
    from softwood.trees.text import tree_text

    if chosen.depth < 0:
        raise UsageError(f"--depth: must be at least 0, got {chosen.depth}.")
    model = load_model(chosen.model)
    in_python(chosen, "import softwood", f"print(softwood.load({str(chosen.model)!r}))")
    finished = finished_of(model)
    features, classes, is_category = names_of(model, finished)
    facts: dict[str, Any] = {"model": type(model).__name__}
    facts |= {"trees": len(finished)} if isinstance(finished, SoftForest) else {}
    facts |= {"leaves": finished.n_leaves, "depth": finished.max_depth}
    facts |= {"columns": getattr(model, "n_features_in_", finished.n_features)}
    if classes is not None:
        facts["classes"] = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
    importances = _importances(model)
    if chosen.json:
        parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        print_json(facts | {"parameters": parameters, "importances": importances})
        return 0
    print_table(("", ""), [*facts.items(), *_changed(model)])
    if importances:
        print_text("")
        rows = sorted(importances.items(), key=lambda item: -item[1])[:MOST_COLUMNS]
        print_table(("column", "importance"), rows)
    if chosen.tree is not None or not hasattr(finished, "offsets"):
        print_text("")
        tree = tree_of(finished, chosen.tree)
        columns = getattr(getattr(model, "best_model_", model), "columns_", None)
        print_text(
            tree_text(
                tree,
                feature_names=features,
                class_names=outputs_of(model, finished).node_labels(finished, chosen.tree or 0),
                is_category=is_category.tolist(),
                categories=None if columns is None else columns.coded,
                max_depth=chosen.depth,
            )
        )
    return 0


def _importances(model: Any) -> dict[str, float]:
    """Importance of each column; empty if the model does not know."""
    import numpy as np

    found = getattr(model, "feature_importances_", None)
    if found is None or not np.isfinite(found).all():
        return {}
    return dict(zip(map(str, model.columns_.inputs), found.tolist(), strict=True))


def _changed(model: Any) -> list[tuple[str, str]]:
    """Parameters that are not the defaults."""
    import inspect

    if not hasattr(model, "get_params"):
        return []
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    given = model.get_params(deep=False)
    return [(name, repr(value)[:100]) for name, value in given.items() if repr(value) != repr(defaults.get(name))]
