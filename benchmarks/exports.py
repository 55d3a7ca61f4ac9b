"""Speed of exported models: rows per second of a boosted model, ours and LightGBM's, by several ways to predict.

Run:  python benchmarks/exports.py [--only speed flips] [--times 5] [--write docs/comparisons/benchmarks.md]

Both models have 100 trees of 31 leaves, grown from the same 20 000 rows of 20 columns. Every way predicts with one
thread; figures are those of the fastest of a few repetitions, by CPU time, taken in turn. "batch 1" is one call per row
from Python. LightGBM's model is also run by treelite's general predictor and by the C code that tl2cgen makes of it.

"flips" counts the rows near thresholds whose prediction moves by more than 0.1 when a model is exported in float32:
models of scikit-learn by skl2onnx, by softwood, and softened.

pip install "softwood[onnx]" lightgbm treelite tl2cgen skl2onnx; a C compiler is needed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from measuring import blobs, machine, write_page
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelBoostingClassifier, soften
from softwood.export import to_c, to_onnx

BATCH = 10_000
Way = Callable[[np.ndarray], object]
DOUBLES = ctypes.POINTER(ctypes.c_double)

# Rows one after the other, so that a batch is one call.
LOOP = """
void predict_rows(const double *rows, long n, double *out) {
    for (long i = 0; i < n; i++) model_predict(rows + i * MODEL_N_COLUMNS, out + i * MODEL_N_OUTPUTS);
}
"""


def onnx_session(exported: object) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(exported.SerializeToString(), options, providers=["CPUExecutionProvider"])


def by_onnx(model: object, dtype: str, **settings: object) -> Way:
    session = onnx_session(to_onnx(model, dtype=dtype, **settings))
    return lambda rows: session.run(["probabilities"], {"X": rows.astype(dtype, copy=False)})


def by_c(model: object, folder: Path) -> Way:
    texts = to_c(model)
    texts.save(folder)
    (folder / "model.c").write_text(texts.source + LOOP, encoding="utf-8")
    library = folder / "model.so"
    subprocess.run(["cc", "-std=c99", "-O3", "-shared", "-fPIC", folder / "model.c", "-o", library, "-lm"], check=True)
    function = ctypes.CDLL(os.fspath(library)).predict_rows

    def predict(rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), 2))
        function(rows.ctypes.data_as(DOUBLES), ctypes.c_long(len(rows)), out.ctypes.data_as(DOUBLES))
        return out

    return predict


def lightgbm_ways(X: np.ndarray, y: np.ndarray, folder: Path) -> dict[str, Way]:
    import tl2cgen
    import treelite
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1).fit(X, y)
    booster = model.booster_
    converted = treelite.frontend.from_lightgbm(booster)
    library = folder / "lightgbm.so"
    tl2cgen.export_lib(converted, toolchain="gcc", libpath=library, params={"parallel_comp": 0}, verbose=False)
    compiled = tl2cgen.Predictor(library, nthread=1, verbose=False)
    return {
        "LightGBM": lambda rows: booster.predict(rows, num_threads=1),
        "LightGBM's model by treelite": lambda rows: treelite.gtil.predict(converted, rows, nthread=1),
        "LightGBM's model in C by tl2cgen": lambda rows: compiled.predict(tl2cgen.DMatrix(rows)),
    }


def rows_per_second(ways: dict[str, Way], rows: np.ndarray, times: int) -> dict[str, tuple[float, float]]:
    """Rows per second one by one and in a batch, fastest of `times`, the ways in turn."""
    single = [rows[i : i + 1].copy() for i in range(200)]
    best = {name: [np.inf, np.inf] for name in ways}
    for way in ways.values():  # load modules and fill caches
        way(rows)
        way(single[0])
    for _ in range(times):
        for name, way in ways.items():
            start = time.process_time()
            for row in single:
                way(row)
            best[name][0] = min(best[name][0], (time.process_time() - start) / len(single))
            start = time.process_time()
            way(rows)
            best[name][1] = min(best[name][1], (time.process_time() - start) / len(rows))
    return {name: (1.0 / one, 1.0 / many) for name, (one, many) in best.items()}


def speed(times: int) -> list[str]:
    X, y, X_test, _ = blobs(20_000, 20, 2)
    rows = np.ascontiguousarray(np.resize(X_test, (BATCH, X.shape[1])))
    ways: dict[str, Way] = {}
    with tempfile.TemporaryDirectory() as folder:
        for words, bandwidth in (("soft, h = 0.05", 0.05), ("crisp", 0.0)):
            model = KernelBoostingClassifier(bandwidth=bandwidth, max_iter=100, early_stopping=False, n_jobs=1).fit(
                X, y
            )
            own = Path(folder) / words.partition(",")[0]
            own.mkdir()
            ways[f"softwood, {words}"] = model.predict_proba
            ways[f"softwood, {words}, trees alone"] = model.forest_.predict
            ways[f"C, {words}"] = by_c(model, own)
            for dtype in ("float64", "float32"):
                ways[f"ONNX, {words}, {dtype}"] = by_onnx(model, dtype, has_missing=bandwidth > 0)
        ways |= lightgbm_ways(X, y, Path(folder))
        found = rows_per_second(ways, rows, times)
    lines = ["| 100 trees of 31 leaves, 20 columns | rows/s, batch 1 | rows/s, batch 10 000 |", "|---|---|---|"]
    return lines + [f"| {name} | {one:,.0f} | {many:,.0f} |" for name, (one, many) in found.items()]


def flips(times: int) -> list[str]:
    from skl2onnx import to_onnx as convert

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5)) + 1000.0
    y = (np.sin(3 * X).sum(axis=1) > 0).astype(int)
    peers = {
        "decision tree": DecisionTreeClassifier(random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=20, max_depth=4),
    }
    lines = ["| model in float32 ONNX | rows of 100 000 that move by > 0.1 | largest move |", "|---|---|---|"]
    for name, peer in peers.items():
        peer.fit(X, y)
        crisp, soft = soften(peer, X, bandwidth=0), soften(peer, X, bandwidth=0.1)
        finished = crisp.tree_ if hasattr(crisp, "tree_") else crisp.forest_
        thresholds = finished.threshold[finished.children_left >= 0]
        rows = rng.choice(thresholds, (100_000, 5)) + rng.uniform(-1e-4, 1e-4, (100_000, 5))
        single = rows.astype(np.float32)
        answers = {
            f"{name} of scikit-learn, by softwood": (by_onnx(crisp, "float32")(single)[0], peer),
            f"{name}, softened (h = 0.1)": (by_onnx(soft, "float32")(single)[0], soft),
        }
        if isinstance(peer, DecisionTreeClassifier):  # skl2onnx 1.20 cannot convert the other with onnx 1.23
            converted = onnx_session(convert(peer, X[:1].astype(np.float32), options={"zipmap": False}))
            found = converted.run(["probabilities"], {converted.get_inputs()[0].name: single})[0]
            answers = {f"{name} of scikit-learn, by skl2onnx": (found, peer), **answers}
        for words, (found, model) in answers.items():
            moved = np.abs(found - model.predict_proba(rows)).max(axis=1)
            lines.append(f"| {words} | {np.sum(moved > 0.1):,} | {moved.max():.2g} |")
    return lines


PARTS = {"speed": speed, "flips": flips}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--times", type=int, default=5, help="repetitions of each figure")
    parser.add_argument("--write", type=Path, help="put the tables into this page, between its markers")
    options = parser.parse_args()
    tables = []
    for name in options.only:
        tables.append("\n".join(PARTS[name](options.times)))
        print(tables[-1] + "\n", flush=True)
    if options.write:
        write_page(options.write, "exports", "\n\n".join(tables) + f"\n\n{machine()}, one thread\n")


if __name__ == "__main__":
    main()
