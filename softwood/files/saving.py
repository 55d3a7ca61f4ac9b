"""Save fitted models, and load them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from softwood.files.atomic import replacing
from softwood.files.container import read_container, write_container
from softwood.files.errors import InvalidFileError, NotSavableError
from softwood.files.kinds import KINDS
from softwood.files.values import Reader, Writer

# What may stand alone in a file: models, but not the records that they are made of.
_ALONE = ("stream.", "river.", "detector.", "river detector.")
_MODELS = {name for name in KINDS.by_name if name[0].isupper() or name.startswith(_ALONE)}
# What wrong content may end with if no check has foreseen it; `tests/files/mutate.py` looks for such checks.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def save(model: Any, path: str | os.PathLike, *, metadata: Mapping[str, Any] | None = None) -> None:
    """Save a model: any estimator or drift detector of softwood, or a `SoftTree` or `SoftForest` of its own.

    The file holds plain arrays and JSON, no pickle and no code. It replaces an older file at once when it is complete,
    so a crash leaves one of the two. The same model always gives the same bytes.

    Parameters
    ----------
    model : estimator, drift detector, SoftTree or SoftForest
        The model to save.
    path : str or path-like
        The file to write. By convention, its name ends in ``.softwood``.
    metadata : dict, default=None
        What else to remember, by name: text, numbers, truth values, None, and lists and dicts of these. `read_metadata`
        returns it. ``softwood fit`` writes the names of the target and of the columns that are no features.

    Raises
    ------
    NotSavableError
        If the model has parameters that are functions or other objects without plain data, or the metadata has; the
        message names them.
    OSError
        If the file cannot be written; an older file is then as it was.

    See Also
    --------
    load : Read the file.
    read_metadata : Read the metadata alone.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import softwood
    >>> X, y = load_iris(return_X_y=True)
    >>> model = softwood.KernelTreeClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.softwood"
    ...     softwood.save(model, path, metadata={"target": "species"})
    ...     again, metadata = softwood.load(path), softwood.read_metadata(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all()), metadata
    (True, {'target': 'species'})
    """
    kind = KINDS.of(model)
    owner = type(model).__name__
    if kind is None or kind.name not in _MODELS:
        raise NotSavableError(
            f"save takes estimators, stream models, detectors, trees and forests of softwood, not {owner}. "
            "Of a pipeline or a search, save the estimator of softwood in it."
        )
    writer = Writer(KINDS, owner)
    content = {"is": kind.name, "state": writer.write_state(kind.state(model), "")}
    try:  # what could not be loaded is not written
        Reader(KINDS, writer.arrays).read_all(content)
    except InvalidFileError as error:
        raise NotSavableError(f"{owner} cannot be saved: {error}.") from None
    if metadata:
        content["metadata"] = _checked_metadata(metadata)
    with replacing(path) as file:
        write_container(file, content, writer.arrays)


def _checked_metadata(metadata: Any) -> dict[str, Any]:
    """The metadata, if it is the same when it is read again."""
    try:
        found = json.loads(json.dumps(metadata, allow_nan=False)) if isinstance(metadata, Mapping) else None
    except (TypeError, ValueError, RecursionError) as error:
        raise NotSavableError(f"metadata cannot be saved: {error}.") from None
    if found is None or found != metadata:
        raise NotSavableError("metadata must be a dict with text as keys, of text, numbers, lists and dicts.")
    return found


def load(path: str | os.PathLike) -> Any:
    """Load a model that `save` has written.

    A loaded model predicts the same bits, and a stream model learns on as the saved one would have. Nothing in a file
    is trusted: sizes are checked before memory is taken, classes are those of softwood only, and all arrays are checked
    to describe one model. No code in a file is ever run.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    object
        The model, of the class that was saved.

    Raises
    ------
    InvalidFileError
        If it is no such file, damaged, or of a later release; it derives from ValueError.
    OSError
        If it cannot be read.

    See Also
    --------
    save : Write the file, with an example.
    """
    return _read(path)[0]


def read_metadata(path: str | os.PathLike) -> dict[str, Any]:
    """The metadata that was given to `save`; empty if there was none.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        The metadata by name.

    Raises
    ------
    InvalidFileError
        If it is no file of a model, or damaged.
    OSError
        If it cannot be read.

    See Also
    --------
    save : Write the file, with an example.
    """
    return _read(path)[1]


def _read(path: str | os.PathLike) -> tuple[Any, dict[str, Any]]:
    """The model, and the metadata."""
    try:
        found = read_container(path)
        content = found.content
        name = content.get("is") if isinstance(content, dict) else None
        if not isinstance(name, str) or name not in _MODELS:
            raise InvalidFileError("it holds no model")
        metadata = content.pop("metadata", {})
        if not isinstance(metadata, dict):
            raise InvalidFileError("its metadata is no dict")
        return Reader(KINDS, found.arrays).read_all(content), metadata
    except InvalidFileError as error:
        raise InvalidFileError(f"{os.fspath(path)!r} is no softwood model, or it is damaged: {error}.") from None
    except _UNFORESEEN as error:
        what = f"{type(error).__name__}: {error}"
        raise InvalidFileError(f"{os.fspath(path)!r} is no softwood model, or it is damaged: {what}.") from error
    except MemoryError:
        raise InvalidFileError(f"{os.fspath(path)!r} needs more memory than there is.") from None
