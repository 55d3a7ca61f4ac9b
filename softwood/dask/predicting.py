"""Lazy predictions: Dask collections in, Dask collections out."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np

from softwood.dask.chunks import parts_of_frame


def predict_lazily(local: Any, method: str, X: Any, **further: Any) -> Any:
    """Predictions of a fitted local estimator for a Dask array or frame, as a Dask array.

    They are computed part by part. The model is one task, which the others read.
    """
    import dask.array as da

    model = dask.delayed(local, traverse=False, pure=True)
    example = _example(local, method, X, further)
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        parts, sizes = X.to_delayed().ravel().tolist(), X.chunks[0]
    else:
        parts = parts_of_frame(X)
        sizes = (np.nan,) * len(parts)
    shape = example.shape[1:]
    stem = f"softwood-{method.replace('_', '-')}-{dask.base.tokenize(local, X, further)}"
    blocks = [
        da.from_delayed(
            dask.delayed(_predict, pure=True)(model, method, part, further, shape, dask_key_name=f"{stem}-{k}"),
            (size, *shape),
            dtype=example.dtype,
        )
        for k, (part, size) in enumerate(zip(parts, sizes, strict=True))
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _example(local: Any, method: str, X: Any, further: dict[str, Any]) -> np.ndarray:
    """Prediction for a row of missing values: its type, and its shape after the first axis."""
    p = local.n_features_in_
    if X.ndim != 2 or X.shape[1] != p:
        raise ValueError(
            f"X has {X.shape[1] if X.ndim == 2 else X.ndim} {'features' if X.ndim == 2 else 'dimensions'}, but "
            f"{type(local).__name__} is expecting {p} features as input."
        )
    row: Any = np.full((1, p), np.nan)
    if hasattr(local, "feature_names_in_"):
        import pandas as pd

        row = pd.DataFrame(row, columns=local.feature_names_in_)
    elif any(known is not None for known in local.columns_.categories):
        row = row.astype(object)
    return getattr(local, method)(row, **further)


def _predict(model: Any, method: str, part: Any, further: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    if part.shape[0] == 0:
        return np.empty((0, *shape))
    return getattr(model, method)(part, **further)
