"""``softwood stream``: test a model on each row of a stream, then train it on the row."""

from __future__ import annotations

import argparse
import math
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softwood.cli.arguments import (
    add_data,
    add_general,
    add_output,
    add_seed,
    add_settings,
    add_target,
    add_task,
    check_output,
    read_settings,
    target_of,
)  # fmt: skip
from softwood.cli.errors import CommandError, UsageError
from softwood.cli.names import STREAM


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "stream",
        help="test, then train, over a file or standard input; windows are printed as they come",
        description="Test a stream model on each row, then train it on the row. Scores of each window of rows are "
        "printed as they come. The model is saved at the end, and after an interrupt.",
    )
    add_data(parser, optional=True)
    add_target(parser, required=False, default="that of the model of --start")
    parser.add_argument(
        "--model",
        default="soft-hoeffding-tree",
        metavar="NAME",
        help=f"one of {', '.join(STREAM)}; by default the first",
    )
    add_settings(parser)
    parser.add_argument("--start", type=Path, metavar="FILE", help="go on with a saved model")
    add_task(parser)
    parser.add_argument(
        "--classes", nargs="+", metavar="LABEL", help="all labels that can come (default: those in the file)"
    )
    parser.add_argument("--window", type=int, metavar="N", help="rows of a window")
    parser.add_argument("--rows", type=int, metavar="N", help="most rows to read")
    add_seed(parser)
    add_output(parser, "file to save the model to")
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Learn the stream, and print its windows."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json, print_table
    from softwood.files.saving import read_metadata, save
    from softwood.stream.evaluation.prequential import prequential

    check_output(chosen.output)
    for name in ("window", "rows"):
        if getattr(chosen, name) is not None and getattr(chosen, name) < 1:
            raise UsageError(f"--{name}: must be at least 1, got {getattr(chosen, name)}.")
    chosen.target = target_of(chosen, {} if chosen.start is None else read_metadata(chosen.start))
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
        save(model, chosen.output, metadata={"target": chosen.target})
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
    return model, labels if chosen.classes is None else np.unique(_as_read(chosen.classes))


def _as_read(labels: list[str], task: str | None = "classification") -> list[Any]:
    """Labels with the types that they have in a column of a file with the same text."""
    import numpy as np

    from softwood.cli.tables import is_missing
    from softwood.core.csv_files import parse_labels

    found = parse_labels(np.array(labels, dtype=object), task)[0]
    return found[~is_missing(found)].tolist()


def _look_at_target(chosen: argparse.Namespace, *, is_known: bool) -> tuple[Any, str]:
    """Labels of a file, and the kind of problem; of a file whose labels are known, only whether the column is there."""
    import numpy as np

    from softwood.cli.tables import check_path, is_empty, is_missing, reading

    path = chosen.data
    check_path(path)
    if is_empty(path):
        raise CommandError(f"{path} is empty.")
    n_rows = 0
    labels: set = set()
    with reading(path):
        for part in _targets(path, chosen.target, 1 if is_known else chosen.rows):
            n_rows += len(part)
            labels |= set(part[~is_missing(part)].tolist()) if len(labels) <= MOST_LABELS else set()
    if is_known:
        return np.empty(0), ""
    if n_rows == 0:
        raise CommandError(f"{path} has no rows.")
    if not path.lower().endswith(".parquet"):
        labels = set(_as_read(sorted(labels), chosen.task))
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


def _targets(path: str, target: str, n_rows: int | None) -> Iterator[Any]:
    """The column of targets, part by part; text for files that are text."""
    from softwood.cli.tables import open_text, parquet
    from softwood.core.csv_files import frames_of
    from softwood.core.frames import Frame

    is_parquet = path.lower().endswith(".parquet")
    opened: Any = parquet().ParquetFile(path) if is_parquet else open_text(path)
    frames: Iterator[Frame]
    with opened as file:
        if is_parquet:
            _check_target(file.schema_arrow.names, path, target)
            frames = map(Frame.from_arrow, file.iter_batches(batch_size=100_000, columns=[target]))
        else:
            frames = frames_of(file, 100_000, as_text=[target], only=[target])
        n_left = math.inf if n_rows is None else n_rows
        for frame in frames:
            _check_target(frame.columns, path, target)
            yield frame[target][: min(len(frame), n_left)]
            n_left -= len(frame)
            if n_left <= 0:
                return


def _check_target(columns: list[str], path: str, target: str) -> None:
    if target not in columns:
        raise UsageError(f"--target: {path} has no column {target!r}{_other_separator(path)}.")


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
