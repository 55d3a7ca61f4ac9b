"""Tabular data sets by name, from a folder of files or from OpenML.

A folder holds one file ``<name>.csv.gz`` per set, with a header line, the features, and a column ``target``. Only empty
cells are missing values. A file ``MANIFEST.csv`` in the same folder (columns name, task, rows, features, classes,
source, notes) describes the sets; sets that it does not list can also be loaded.
"""

import csv
import difflib
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from sklearn.datasets import fetch_openml

if TYPE_CHECKING:
    import pandas as pd

Task = Literal["classification", "regression"]

_FOLDER_VARIABLE = "SOFTWOOD_DATA"
_TARGET = "target"
_MANIFEST = "MANIFEST.csv"


@dataclass(frozen=True)
class Dataset:
    """A data set, its task and where it comes from.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame of shape (n_samples, n_features)
        Features; text columns have the dtype ``category``.
    y : ndarray of shape (n_samples,)
        Float targets for regression; for classification, the labels as in the source.
    task : {"classification", "regression"}
        The kind of task.
    feature_names : list of str
        The columns of `X`.
    description : str
        Source and remarks.
    """

    name: str
    X: "pd.DataFrame" = field(repr=False)
    y: np.ndarray = field(repr=False)
    task: Task
    feature_names: list[str] = field(repr=False)
    description: str


class _OpenML(NamedTuple):
    data_id: int
    task: Task = "classification"
    differs: str = ""


# Only sets whose OpenML number is certain. `differs` says how the copy on OpenML differs from the file.
_OPENML: dict[str, _OpenML] = {
    "abalone": _OpenML(183, "regression"),
    "boston_housing": _OpenML(531, "regression", "CHAS and RAD are categories"),
    "breast_cancer_wisconsin": _OpenML(15, differs="classes benign and malignant"),
    "churn": _OpenML(40701),
    "covertype": _OpenML(1596),
    "cpu_act": _OpenML(197, "regression"),
    "cpu_small": _OpenML(562, "regression"),
    "credit_a": _OpenML(29),
    "ecoli": _OpenML(39),
    "german_credit": _OpenML(31, differs="categories spelled out, classes good and bad"),
    "glass": _OpenML(41, differs="classes spelled out"),
    "hepatitis": _OpenML(55),
    "image_segmentation_train": _OpenML(
        36, differs="all 2310 rows of the segment data, not the 210-row training part that the kernel tree paper uses"
    ),
    "ionosphere": _OpenML(59),
    "iris": _OpenML(61),
    "letter": _OpenML(6),
    "magic_gamma": _OpenML(1120),
    "nursery_uci": _OpenML(26),
    "openml_589_fri_c2_1000_25": _OpenML(589, "regression"),
    "openml_620_fri_c1_1000_25": _OpenML(620, "regression"),
    "optdigits": _OpenML(28),
    "pendigits": _OpenML(32),
    "pima_diabetes": _OpenML(37, differs="classes tested_positive and tested_negative"),
    "puma8NH": _OpenML(225, "regression"),
    "satimage": _OpenML(182, differs="6430 rows instead of 6435"),
    "sonar": _OpenML(40),
    "spambase": _OpenML(44),
    "texture": _OpenML(40499),
    "twonorm": _OpenML(1507),
    "wine": _OpenML(187),
    "wine_quality_red": _OpenML(40691, differs="classes renumbered from 1"),
    "wine_quality_white": _OpenML(40498, differs="classes renumbered from 1"),
    "yeast": _OpenML(181),
}


def available() -> list[str]:
    """Names of the data sets that `load_dataset` can load.

    Returns
    -------
    list of str
        Sorted names of the files in the folder ``SOFTWOOD_DATA`` if that variable is set; otherwise of the sets that
        can be fetched from OpenML.

    Examples
    --------
    >>> from softwood.datasets import available
    >>> all(isinstance(name, str) for name in available())
    True
    """
    folder = _folder()
    if folder is None:
        return sorted(_OPENML)
    return sorted(path.name.removesuffix(".csv.gz") for path in folder.glob("*.csv.gz"))


def load_dataset(name: str) -> Dataset:
    """Load a data set by name.

    Reads ``<name>.csv.gz`` from the folder given by the environment variable ``SOFTWOOD_DATA``. If the variable is not
    set, the set is fetched from OpenML and cached by scikit-learn. Class labels from OpenML are text, and
    ``description`` lists other differences from the file. Requires pandas.

    Parameters
    ----------
    name : str
        One of `available`.

    Returns
    -------
    Dataset
        Features as a data frame, targets as an array, and their description.

    Raises
    ------
    ValueError
        If the name is unknown or the file is damaged.
    FileNotFoundError
        If the folder, or a file that its ``MANIFEST.csv`` lists, does not exist.
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from softwood.datasets import load_dataset
    >>> iris = load_dataset("iris")  # doctest: +SKIP
    >>> iris.X.shape, iris.task  # doctest: +SKIP
    ((150, 4), 'classification')
    """
    folder = _folder()
    return _load_openml(name) if folder is None else _load_file(name, folder)


def _folder() -> Path | None:
    value = os.environ.get(_FOLDER_VARIABLE)
    if not value:
        return None
    folder = Path(value)
    if not folder.is_dir():
        raise FileNotFoundError(f"{_FOLDER_VARIABLE} must name a folder of .csv.gz files. Got {value!r}, not a folder.")
    return folder


def _load_file(name: str, folder: Path) -> Dataset:
    manifest = _read_manifest(folder / _MANIFEST)
    names = available()
    path = folder / f"{name}.csv.gz"
    if name not in names:
        if name in manifest:
            raise FileNotFoundError(f"Data set {name!r} is listed in {folder / _MANIFEST}, but {path} is missing.")
        raise ValueError(_unknown(name, {*names, *manifest}, f"in {folder}"))

    frame = _read_csv(path)
    if _TARGET not in frame.columns:
        found = ", ".join(map(str, frame.columns))
        raise ValueError(f"{path} must have a column {_TARGET!r}. Got the columns {found}.")
    row = manifest.get(name, {})
    if row.get("rows") and len(frame) != int(row["rows"]):
        raise ValueError(f"{path} must have {row['rows']} rows, as {_MANIFEST} says. Got {len(frame)}.")
    target = frame.pop(_TARGET)
    if target.isna().any():
        raise ValueError(f"Column {_TARGET!r} of {path} must be complete. Got {target.isna().sum()} missing values.")
    description = "; ".join(part for key in ("source", "notes") if (part := row.get(key)))
    return _dataset(name, frame, target, _task(row, target, folder / _MANIFEST), description or str(path))


def _read_manifest(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        rows = csv.DictReader(lines)
        missing = {"name", "task"} - set(rows.fieldnames or [])
        if missing:
            raise ValueError(f"{path} must have the columns name and task. Missing: {', '.join(sorted(missing))}.")
        return {row["name"]: row for row in rows}


def _read_csv(path: Path) -> "pd.DataFrame":
    pandas = _pandas()
    try:
        # Empty means missing and nothing else does: "NA" or "None" may be the name of a category.
        # Infer types from whole columns; pieces of a column might have different types.
        return pandas.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    except (OSError, EOFError, ValueError, zlib.error) as error:  # the errors of pandas' parser are ValueErrors
        raise ValueError(f"{path} must be a gzipped CSV file. Reading it failed: {error}") from error


def _task(row: dict[str, str], target: "pd.Series", manifest: Path) -> Task:
    task = row.get("task")
    if task is None:
        # not listed: numbers with fractions are targets, everything else is labels
        numeric = _pandas().api.types.is_float_dtype(target)
        return "regression" if numeric and not np.all(np.mod(target, 1) == 0) else "classification"
    if task not in ("classification", "regression"):
        raise ValueError(f"Task of {row['name']!r} in {manifest} must be classification or regression. Got {task!r}.")
    return cast(Task, task)


def _load_openml(name: str) -> Dataset:
    if name not in _OPENML:
        raise ValueError(_unknown(name, _OPENML, f"among those fetched from OpenML, and {_FOLDER_VARIABLE} is not set"))
    _pandas()  # its message is shorter than scikit-learn's
    data_id, task, differs = _OPENML[name]
    try:
        bunch = fetch_openml(data_id=data_id, as_frame=True)
    except OSError as error:  # no connection, or no such page
        raise OSError(
            f"Fetching {name!r} (number {data_id}) from OpenML failed: {error}. To work offline, set "
            f"{_FOLDER_VARIABLE} to a folder that holds {name}.csv.gz."
        ) from error
    description = f"OpenML {data_id}" + (f"; differs: {differs}" if differs else "")
    return _dataset(name, bunch.data, bunch.target, task, description)


def _dataset(name: str, X: "pd.DataFrame", target: "pd.Series", task: Task, description: str) -> Dataset:
    types = _pandas().api.types
    text = [column for column in X.columns if types.is_object_dtype(X[column]) or types.is_string_dtype(X[column])]
    X = X.astype(dict.fromkeys(text, "category"))

    y: np.ndarray
    if task == "regression":
        # by way of text where OpenML stores numbers as categories
        y = (target if types.is_numeric_dtype(target) else target.astype(str)).to_numpy(dtype=np.float64)
    elif types.is_numeric_dtype(target):  # true and false count as numbers here
        y = target.to_numpy()
    else:
        y = target.to_numpy(dtype=str)
    return Dataset(name, X, y, task, [str(column) for column in X.columns], description)


def _unknown(name: str, names: Iterable[str], where: str) -> str:
    names = sorted(names)
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5) or [other for other in names if name in other][:5]
    hint = f"Near names: {', '.join(near)}." if near else f"There are: {', '.join(names) or 'none'}."
    return f"No data set {name!r} {where}. {hint}"


def _pandas() -> ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Loading data sets by name needs pandas. Install it with: pip install pandas") from error
    return cast(ModuleType, pandas)
