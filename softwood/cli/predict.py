"""``softwood predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from softwood.cli.arguments import add_data, add_general, add_model, add_output, check_output

__all__ = ["add", "run"]

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
    add_general(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the predictions."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json
    from softwood.cli.tables import columns_for, in_pandas, read_table
    from softwood.fitted import FittedModel

    check_output(chosen.output, SUFFIXES)
    model = load_model(chosen.model)
    X = columns_for(FittedModel.of(model, "predict"), read_table(chosen.data), chosen.data)
    in_python(
        chosen,
        "import pandas as pd, softwood",
        f"model = softwood.load({str(chosen.model)!r})",
        f"model.predict({in_pandas(chosen.data)})",
    )
    table = _predicted(model, X)
    if chosen.json:
        print_json(table.to_dict(orient="records"))
    elif chosen.output is None:
        table.to_csv(sys.stdout, index=False)
    else:
        _write(table, chosen.output)
    return 0


def _predicted(model: Any, X: Any) -> Any:
    import numpy as np
    import pandas as pd
    from sklearn.base import is_classifier

    if is_classifier(model):
        shares = model.predict_proba(X)
        columns = {"prediction": model.classes_[shares.argmax(axis=1)]}
        columns |= {f"probability {label}": shares[:, k] for k, label in enumerate(model.classes_.tolist())}
        return pd.DataFrame(columns)
    found = np.asarray(model.predict(X))
    if found.ndim == 1:
        return pd.DataFrame({"prediction": found})
    return pd.DataFrame({f"prediction {k}": found[:, k] for k in range(found.shape[1])})


def _write(table: Any, path: Any) -> None:
    import gzip

    from softwood.files.atomic import replacing

    with replacing(path) as file:
        if path.name.endswith(".parquet"):
            table.to_parquet(file, index=False)
        else:
            text = table.to_csv(index=False).encode("utf-8")
            file.write(gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text)
