"""``softwood predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from softwood.cli.arguments import add_data, add_general, add_model, add_output, check_output

SUFFIXES = (".csv", ".csv.gz", ".parquet")


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a table with a saved model",
        description="Predict the rows of a table: a column 'prediction', and for classes a column "
        "'probability LABEL' each. The table may have more columns than the model needs.",
    )
    add_model(parser)
    add_data(parser)
    add_output(parser, f"file to write, which ends in {', '.join(SUFFIXES)} (default: CSV on standard output)")
    parser.add_argument(
        "--coverage",
        type=float,
        metavar="P",
        help="add intervals, or sets of classes, that contain the truth with this probability; the model must "
        "have errors on held-out rows, from its fit or from calibrate",
    )
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Write the predictions."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json
    from softwood.cli.tables import columns_for, in_pandas, read_table
    from softwood.core.extras import require
    from softwood.fitted import FittedModel

    check_output(chosen.output, SUFFIXES)
    model = load_model(chosen.model)
    if chosen.output is not None and chosen.output.name.endswith(".parquet"):
        require("pyarrow.parquet", "cli", "Writing Parquet files")
    read = read_table(chosen.data)
    X = columns_for(FittedModel.of(model, "predict"), read, chosen.data)
    rows = in_pandas(chosen.data, read)
    lines = [f"model = softwood.load({str(chosen.model)!r})", f"model.predict({rows})"]
    if chosen.coverage is not None:
        method = "predict_set" if hasattr(model, "predict_set") else "predict_interval"
        lines.append(f"model.{method}({rows}, coverage={chosen.coverage:g})")
    in_python(chosen, "import pandas as pd, softwood", *lines)
    table = _predicted(model, X, chosen.coverage)
    if chosen.json:
        print_json(table.to_dicts())
    elif chosen.output is None:
        sys.stdout.write(_csv(table))
    else:
        _write(table, chosen.output)
    return 0


def _predicted(model: Any, X: Any, coverage: float | None) -> Any:
    import numpy as np
    from sklearn.base import is_classifier

    from softwood.core.frames import Frame

    if is_classifier(model):
        shares = model.predict_proba(X)
        columns = {"prediction": model.classes_[shares.argmax(axis=1)]}
        columns |= {f"probability {label}": shares[:, k] for k, label in enumerate(model.classes_.tolist())}
        if coverage is not None:
            sets = model.predict_set(X, coverage)
            columns |= {f"in set {label}": sets[:, k] for k, label in enumerate(model.classes_.tolist())}
        return Frame(columns)
    found = np.asarray(model.predict(X))
    columns = {"prediction": found}
    if found.ndim > 1:
        columns = {f"prediction {k}": found[:, k] for k in range(found.shape[1])}
    if coverage is not None:
        ends = np.asarray(model.predict_interval(X, coverage)).reshape(len(found), 2, -1)
        marks = [""] if ends.shape[2] == 1 else [f" {k}" for k in range(ends.shape[2])]
        columns |= {
            f"{end}{mark}": ends[:, i, k] for k, mark in enumerate(marks) for i, end in enumerate(("lower", "upper"))
        }
    return Frame(columns)


def _csv(table: Any) -> str:
    """The table as text with commas."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*(table[name].tolist() for name in table.columns), strict=True))
    return text.getvalue()


def _write(table: Any, path: Any) -> None:
    import gzip

    from softwood.core.extras import require
    from softwood.files.atomic import replacing

    with replacing(path) as file:
        if path.name.endswith(".parquet"):
            arrow = require("pyarrow", "cli", "Writing Parquet files")
            parquet = require("pyarrow.parquet", "cli", "Writing Parquet files")
            parquet.write_table(arrow.table({name: table[name] for name in table.columns}), file)
        else:
            text = _csv(table).encode("utf-8")
            file.write(gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text)
