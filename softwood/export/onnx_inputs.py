"""Inputs of an ONNX graph: from the columns of a table to the numbers that the gates read."""

from __future__ import annotations

import numpy as np

from softwood.export.onnx_builder import Builder
from softwood.fitted import FittedModel

MISSING_TEXT = ""


def read_inputs(builder: Builder, known: FittedModel) -> str:
    """Add the inputs; returns the encoded rows, (n_rows, n_features)."""
    columns = known.columns
    if all(categories is None for categories in columns.categories):
        table = builder.input("X", builder.dtype, len(columns.inputs))
        every = [j for j, _ in known.features]
        return table if every == list(range(len(columns.inputs))) else builder.gather(table, every)
    are_text = [_holds_text(known, j) for j in range(len(columns.inputs))]
    if not any(are_text):
        table = builder.input("X", builder.dtype, len(columns.inputs))
        cells = [builder.gather(table, [j]) for j in range(len(columns.inputs))]
    else:
        if len(set(columns.inputs)) < len(columns.inputs):
            raise ValueError("to_onnx needs different names of the columns, for each becomes an input.")
        cells = [
            builder.input(name, np.dtype(object) if is_text else builder.dtype, 1)
            for name, is_text in zip(columns.inputs, are_text, strict=True)
        ]
    blocks, order = [], []
    for j, cell in enumerate(cells):
        categories = columns.categories[j]
        own = [(at, category) for at, (k, category) in enumerate(known.features) if k == j]
        if not own:
            continue
        order += [at for at, _ in own]
        if categories is None:
            blocks.append(cell)
        else:
            blocks.append(_one_hot(builder, known, cell, categories, [c for _, c in own if c is not None]))
    points = builder.op("Concat", *blocks, axis=1)
    return points if order == sorted(order) else builder.gather(points, np.argsort(order))


def _holds_text(known: FittedModel, j: int) -> bool:
    """Whether a column holds text; an error if its categories are of several kinds."""
    categories, name = known.columns.categories[j], known.columns.inputs[j]
    are_text = {isinstance(category, str) for category in categories or ()}
    if len(are_text) > 1:
        raise ValueError(f"Column {name!r} holds both text and numbers, which no input of ONNX can.")
    return True in are_text


def _one_hot(builder: Builder, known: FittedModel, cell: str, categories: tuple, shown: list[int]) -> str:
    """Zeros and ones of the categories that are shown, NaN where missing, (n_rows, n_shown)."""
    is_text = isinstance(categories[0], str)
    if is_text:
        table = builder.array(np.array([categories], dtype=object))
    else:
        table = builder.row([float(category) for category in categories])
    equal = builder.real(builder.op("Equal", cell, table))
    block = equal if shown == list(range(len(categories))) else builder.gather(equal, shown)
    if not known.grows:  # an unknown category is a missing value
        is_known = builder.op("Greater", builder.op("ReduceSum", equal, builder.integers([1])), builder.number(0.5))
        return builder.op("Where", is_known, block, builder.number(np.nan))
    if not is_text:
        is_missing = builder.op("IsNaN", cell)
    elif MISSING_TEXT in categories:
        return block  # no text is left to say that it is missing
    else:
        is_missing = builder.op("Equal", cell, builder.array(np.array([[MISSING_TEXT]], dtype=object)))
    return builder.op("Where", is_missing, builder.number(np.nan), block)
