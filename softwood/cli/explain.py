"""``softwood explain``: why a saved model predicts what it does for a row."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from softwood.cli.arguments import add_data, add_general, add_model, add_number, add_seed
from softwood.cli.errors import UsageError

if TYPE_CHECKING:
    from softwood.explanations import Explanation, ShapleyValues
    from softwood.fitted import FittedModel

# Largest table of Shapley values.
_MOST_OUTPUTS, _MOST_COLUMNS = 6, 20


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "explain",
        help="the paths of one row through a saved model, Shapley values, and certificates",
        description="The prediction for one row of a table, the leaves that it belongs to, the tests on the way to "
        "them, how far readings can be off, and the part of each column in the prediction.",
    )
    add_model(parser)
    add_data(parser)
    add_number(parser, "--row", 0, "number of the row, from 0")
    add_number(parser, "--paths", 5, "most paths to show")
    parser.add_argument("--tree", type=int, metavar="N", help="number of the tree of an ensemble, from 0 (default 0)")
    add_seed(parser, "Shapley values that are sampled")
    add_number(parser, "--coverage", 0.9, "probability that the interval or the set of the row contains the truth", "P")
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Print the paths."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, number, print_json, print_text
    from softwood.cli.tables import columns_for, in_pandas, read_table
    from softwood.explanations.explaining import explain
    from softwood.fitted import FittedModel

    if chosen.paths < 1:
        raise UsageError(f"--paths: must be at least 1, got {chosen.paths}.")
    model = load_model(chosen.model)
    known = FittedModel.of(model, "explain")
    table = read_table(chosen.data)
    if not 0 <= chosen.row < len(table):
        raise UsageError(f"--row: {chosen.data} has rows 0 to {len(table) - 1}, got {chosen.row}.")
    X = columns_for(known, table, chosen.data)[chosen.row : chosen.row + 1]
    in_python(
        chosen,
        "import pandas as pd, softwood",
        "from softwood.explanations import certified_radius, shapley_values",
        f"row = {in_pandas(chosen.data, table)}[{chosen.row}:{chosen.row + 1}]",
        f"model = softwood.load({str(chosen.model)!r})",
        "model.predict(row), model.memberships(row)",
        f"shapley_values(model, row, random_state={chosen.seed})",
        f"certified_radius(model, row), softwood.explain(model, row, coverage={chosen.coverage:g})",
    )
    outputs = known.predict(X)[0]
    classes = known.outputs.names if known.outputs.is_class else None
    # Classes are listed in this order everywhere, the predicted one first.
    order = sorted(range(len(outputs)), key=lambda k: -outputs[k]) if classes else list(range(len(outputs)))
    paths = _paths(known, X, chosen, order)
    explained = explain(model, X, tree=chosen.tree or 0, coverage=chosen.coverage, random_state=chosen.seed)
    shapley = explained.shapley
    if chosen.json:
        found = dict(zip(classes, outputs, strict=True)) if classes else outputs
        print_json({
            "row": chosen.row, "prediction": found, **_plain_uncertainty(explained), "paths": paths,
            "certificate": _plain_certificate(explained), "shapley_values": _plain_values(shapley),
        })  # fmt: skip
        return 0
    if classes is None:
        print_text(f"row {chosen.row}: prediction {', '.join(map(number, outputs))}")
    else:
        best = order[0]
        print_text(f"row {chosen.row}: prediction {classes[best]}, probability {number(outputs[best])}")
    for line in explained.uncertainty:
        print_text(line)
    what = "tree" if known.n_trees - known.trend == 1 else f"tree {chosen.tree or 0} of {known.n_trees}"
    print_text(f"leaves of the {what} with the largest shares of the row")
    for path in paths:
        print_text("")
        print_text(f"share {path['share']:.1%}, leaf {path['leaf']}, {_value_text(path['value'])}")
        for step in path["tests"]:
            print_text(f"  {step['share']:7.1%}  {step['test']}")
    print_text("")
    _print_certificate(explained)
    _print_values(explained, shapley, order)
    return 0


def _plain_uncertainty(explained: Explanation) -> dict[str, Any]:
    """The interval or the set of classes, if there is one; ends of intervals are null if there are too few rows."""
    if explained.class_set is not None:
        return {"coverage": explained.coverage, "set": list(explained.class_set)}
    if explained.interval is None:
        return {}
    ends = [[end if abs(end) < float("inf") else None for end in line] for line in explained.interval.tolist()]
    return {"coverage": explained.coverage, "interval": ends[0] if len(ends) == 1 else ends}


def _value_text(value: dict[str, float] | list[float]) -> str:
    """The value of a leaf in words, at most `_MOST_OUTPUTS` numbers."""
    from softwood.cli.printing import number

    if isinstance(value, dict):
        shown = [f"{name} {number(part)}" for name, part in list(value.items())[:_MOST_OUTPUTS]]
    else:
        shown = [f"value {number(value[0])}", *map(number, value[1:_MOST_OUTPUTS])]
    return ", ".join([*shown, "..."] if len(value) > _MOST_OUTPUTS else shown)


def _paths(known: FittedModel, X: Any, chosen: argparse.Namespace, order: list[int]) -> list[dict[str, Any]]:
    """Leaves with the largest shares of the row, each with the tests on the way: text, and share that passes."""
    from softwood.cli.names import tree_of
    from softwood.trees.text import side_text

    tree, columns = tree_of(known, chosen.tree), known.columns
    labels = known.outputs.node_labels(known.trees, chosen.tree or 0)
    shares = known.memberships(X, tree).toarray()[0]
    leaves = [node for node in range(tree.n_nodes) if tree.children_left[node] < 0 and shares[node] > 0]
    paths = []
    for leaf in sorted(leaves, key=lambda node: -shares[node])[: chosen.paths]:
        way = [leaf]
        while tree.parent[way[-1]] >= 0:
            way.append(int(tree.parent[way[-1]]))
        tests = [
            {
                "test": side_text(tree, node, columns.names, columns.is_category, 3, columns.coded),
                "share": float(shares[node]),
            }
            for node in way[-2::-1]
        ]
        value: Any = tree.node_predictions[leaf].tolist()
        if labels is not None:
            value = {labels[k]: value[k] for k in (order if len(labels) == len(order) else range(len(labels)))}
        paths.append({"leaf": leaf, "share": float(shares[leaf]), "value": value, "tests": tests})
    return paths


def _plain_values(shapley: ShapleyValues) -> dict[str, Any]:
    """Shapley values of the row by column and output."""

    def by_column(table: Any) -> dict[str, dict[str, float]]:
        return {
            name: dict(zip(shapley.outputs, line, strict=True))
            for name, line in zip(shapley.names, table[0].tolist(), strict=True)
        }

    errors = shapley.standard_errors
    return {
        "quantity": shapley.quantity,
        "scale": shapley.scale or None,
        "base_values": dict(zip(shapley.outputs, shapley.base_values.tolist(), strict=True)),
        "values": by_column(shapley.values),
        "standard_errors": None if errors is None else by_column(errors),
    }


def _plain_certificate(explained: Explanation) -> dict[str, Any]:
    """How far readings can be off, by column: a number, "anything", or null where there is no certificate."""
    found = explained.certificates
    reach = {
        name: "anything" if far == float("inf") else far
        for name, far in zip(found.columns, found.reach[0].tolist(), strict=True)
    }
    radius = float(found.radius[0])
    return {
        "may_be_off_by": reach,
        "radius": "anything" if radius == float("inf") else radius,
        "reason": found.reason or None,
    }


def _print_certificate(explained: Explanation) -> None:
    """The columns whose readings could change the class, the nearest to that first."""
    from softwood.cli.printing import number, print_table, print_text

    if not explained.is_class:
        return
    found = explained.certificates
    named = zip(found.columns, found.reach[0].tolist(), strict=True)
    limited = sorted((far, name) for name, far in named if far < float("inf"))  # nan is not below
    if limited:
        print_text("how far a reading alone can be off before the class may change")
        shown = [(name, number(far)) for far, name in limited[:_MOST_COLUMNS]]
        print_table(("column", "may be off by"), shown)
        if len(limited) > len(shown):
            print_text(f"and {len(limited) - len(shown)} more columns, by more")
    elif found.column_reasons and not (found.reach[0] >= 0).any():
        print_text(f"no certificate: {next(iter(found.column_reasons.values()))}")
    else:
        taken = " (categories and dates are taken as they are)" if found.column_reasons else ""
        print_text(f"no reading alone can change the class{taken}")
    print_text("")


def _print_values(explained: Explanation, shapley: ShapleyValues, order: list[int]) -> None:
    """A table of the columns with the largest values, for the first outputs of `order`."""
    import numpy as np

    from softwood.cli.printing import number, print_table, print_text

    def of_outputs(scores: Any) -> Any:
        return np.stack([explained.of_output(scores, k) for k in order[:_MOST_OUTPUTS]], axis=-1)

    values, errors = of_outputs(shapley.values[0]), shapley.standard_errors
    sizes = None if errors is None else abs(of_outputs(errors[0]))
    columns = sorted(range(len(shapley.names)), key=lambda j: -abs(values[j]).max())
    rows: list[tuple[Any, ...]] = [("base value", *of_outputs(shapley.base_values))]
    for j in columns[:_MOST_COLUMNS]:
        off = [""] * values.shape[1] if sizes is None else [f" ± {number(size)}" for size in sizes[j]]
        rows.append((shapley.names[j], *(number(value) + more for value, more in zip(values[j], off, strict=True))))
    rest = columns[_MOST_COLUMNS:]
    if rest:
        rows.append((f"{len(rest)} others", *values[rest].sum(axis=0)))
    rows.append(("sum", *of_outputs(shapley.prediction[0])))
    prediction = "probability" if explained.is_class else "prediction"
    what = shapley.quantity + (f" ({shapley.scale}), not in the {prediction}" if shapley.scale else "")
    how = "" if errors is None else ", sampled, with standard errors"
    print_text(f"Shapley values: part of each column in the {what}{how}")
    names = explained.outputs if explained.is_class else shapley.outputs
    print_table(("column", *(names[k] for k in order[:_MOST_OUTPUTS])), rows)
