"""``softwood stream``: test a model on each row of a stream, then train it on the row."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import Any

from softwood.cli.arguments import (
    add_data,
    add_general,
    add_output,
    add_seed,
    add_settings,
    add_target,
    check_output,
    read_settings,
)  # fmt: skip
from softwood.cli.errors import CommandError, UsageError
from softwood.cli.names import STREAM

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "stream",
        help="test, then train, over a file or standard input; windows are printed as they come",
        description="Test a stream model on each row, then train it on the row. Scores of each window of rows are "
        "printed as they come. The model is saved at the end, and after an interrupt.",
    )
    add_data(parser, optional=True)
    add_target(parser)
    parser.add_argument(
        "--model",
        default="soft-hoeffding-tree",
        metavar="NAME",
        help=f"one of {', '.join(STREAM)}; by default the first",
    )
    add_settings(parser)
    parser.add_argument("--start", type=Path, metavar="FILE", help="go on with a saved model")
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="kind of problem (default: by the target)",
    )
    parser.add_argument(
        "--classes", nargs="+", metavar="LABEL", help="all labels that can come (default: those in the file)"
    )
    parser.add_argument("--window", type=int, metavar="N", help="rows of a window")
    parser.add_argument("--rows", type=int, metavar="N", help="most rows to read")
    add_seed(parser)
    add_output(parser, "file to save the model to")
    add_general(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Learn the stream, and print its windows."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json, print_table
    from softwood.files.saving import save
    from softwood.stream.evaluation.prequential import prequential

    check_output(chosen.output)
    for name in ("window", "rows"):
        if getattr(chosen, name) is not None and getattr(chosen, name) < 1:
            raise UsageError(f"--{name}: must be at least 1, got {getattr(chosen, name)}.")
    if chosen.start is not None:
        model, classes = load_model(chosen.start), None
        if not hasattr(model, "partial_fit"):
            raise UsageError(f"--start: {type(model).__name__} does not learn from streams.")
    else:
        model, classes = _new_model(chosen)
    known = "" if classes is None else f", classes={classes.tolist()!r}"
    in_python(chosen, "from softwood.stream import prequential",
              f"prequential(model, {chosen.data!r}, target={chosen.target!r}{known})")  # fmt: skip
    windows = _Windows(is_json=chosen.json)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        result = prequential(
            model, chosen.data, target=chosen.target, classes=classes, window=chosen.window, max_samples=chosen.rows,
            on_window=windows.add,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGTERM, before)
    if chosen.output is not None:
        save(model, chosen.output)
    facts = {"rows": result.n_samples, "rows per second": result.samples_per_second, "leaves": model.get_n_leaves()}
    if chosen.json:
        print_json(facts | {"scores": result.scores, "interrupted": result.interrupted, "windows": windows.records})
    else:
        print()
        print_table(("all rows", ""), [*facts.items(), *result.scores.items()])
    return 130 if result.interrupted else 0


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


class _Windows:
    """Prints a line for each window."""

    def __init__(self, *, is_json: bool) -> None:
        self.records: list[dict[str, float]] = []
        self._is_json = is_json

    def add(self, n_samples: int, scores: dict[str, float]) -> None:
        from softwood.cli.printing import number

        self.records.append({"rows": n_samples, **scores})
        if self._is_json:
            return
        if len(self.records) == 1:
            print("".join(f"{name.replace('_', ' '):>16}" for name in self.records[0]))
        print("".join(f"{number(value):>16}" for value in self.records[-1].values()), flush=True)


def _new_model(chosen: argparse.Namespace) -> tuple[Any, Any]:
    """A new model, and the labels of a classifier."""
    import numpy as np

    from softwood.cli.names import make_model

    if chosen.model not in STREAM:
        raise UsageError(f"there is no stream model {chosen.model!r}; choose from {', '.join(STREAM)}.")
    settings = read_settings(chosen.set)
    task = chosen.task or (None if chosen.classes is None else "classification")
    is_known = task == "regression" or chosen.classes is not None
    if chosen.data == "-":
        if not is_known:
            raise UsageError("--classes or --task regression is needed to read from standard input.")
        labels = np.empty(0)
    else:
        labels, found = _look_at_target(chosen, is_known=is_known)
        task = task or found
    assert task is not None
    model = make_model(chosen.model, task, settings, chosen.seed)
    if task == "regression":
        return model, None
    return model, labels if chosen.classes is None else np.unique(_as_read(chosen.classes, chosen.target).tolist())


def _as_read(labels: list[str], target: str, task: str | None = "classification") -> Any:
    """Labels with the types that they have in the column `target` of a file with the same text."""
    import io

    import pandas as pd

    from softwood.cli.tables import labels_of

    texts = pd.Series(labels, name=target, dtype=str)
    text = texts.to_frame().to_csv(index=False)
    return labels_of(pd.read_csv(io.StringIO(text), skip_blank_lines=False)[target], texts, task).dropna()


def _look_at_target(chosen: argparse.Namespace, *, is_known: bool) -> tuple[Any, str]:
    """Labels of a file, and the kind of problem; of a file whose labels are known, only whether the column is there."""
    import numpy as np

    from softwood.cli.tables import SUFFIXES
    from softwood.core.extras import require

    pandas = require("pandas", "cli", "Reading tables")
    path = chosen.data
    if not Path(path).exists():
        raise CommandError(f"there is no file {path!r}.")
    if not path.lower().endswith(SUFFIXES):
        raise UsageError(f"{path!r} must end in one of {', '.join(SUFFIXES)}.")
    try:
        parts = _targets(path, chosen.target, 0 if is_known else chosen.rows)
        n_rows = 0
        labels: set = set()
        for part in parts:
            n_rows += len(part)
            labels |= set(part.dropna().unique().tolist()) if len(labels) <= MOST_LABELS else set()
    except pandas.errors.EmptyDataError:
        raise CommandError(f"{path} is empty.") from None
    except (ValueError, KeyError, OSError, EOFError) as error:
        if "usecols" in str(error).lower() or "No match for FieldRef" in str(error):
            raise UsageError(f"--target: {path} has no column {chosen.target!r}{_other_separator(path)}.") from None
        raise CommandError(f"{path} cannot be read: {error}") from None
    if is_known:
        return np.empty(0), ""
    if n_rows == 0:
        raise CommandError(f"{path} has no rows.")
    if not path.lower().endswith(".parquet"):
        labels = set(_as_read(sorted(labels), chosen.target, chosen.task).tolist())
    return _labels_and_task(labels, n_rows)


def _other_separator(path: str) -> str:
    """What to do about a file whose columns are not separated by commas."""
    from softwood.cli.tables import separator_of

    separator = "," if path.lower().endswith(".parquet") else separator_of(path)
    if separator == ",":
        return ""
    return f"; its columns are separated by {separator!r}, and streams are read with commas: convert the file"


# A stream with more different targets than this is one of numbers, or an error.
MOST_LABELS = 1000


def _targets(path: str, target: str, n_rows: int | None) -> Any:
    """The column of targets, part by part."""
    import pandas as pd

    if path.lower().endswith(".parquet"):
        return [pd.read_parquet(path, columns=[target])[target][:n_rows]]
    parts = pd.read_csv(path, usecols=[target], nrows=n_rows, chunksize=100_000, dtype=str, keep_default_na=False)
    return (part[target] for part in parts)


def _labels_and_task(labels: set, n_rows: int) -> tuple[Any, str]:
    import numpy as np

    from softwood.cli.tables import MOST_CLASSES

    are_numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    is_whole = all(isinstance(label, int) for label in labels)
    if are_numbers and not (is_whole and len(labels) <= MOST_CLASSES and 2 * len(labels) <= n_rows):
        return np.empty(0), "regression"
    if len(labels) > MOST_LABELS:
        raise CommandError(f"the target has more than {MOST_LABELS} different labels.")
    return np.unique(sorted(labels, key=str)), "classification"
