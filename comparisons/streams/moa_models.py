"""Learners of MOA beside the package's models: the same rows with categories, and a loop in Java for those of MOA."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from comparisons.streams.moa_streams import Table
from comparisons.streams.models import LEAST, Sums
from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    StreamForestClassifier,
    StreamForestRegressor,
)

LOOP = Path(__file__).with_name("Prequential.java")
STEP = 1000
FOREST = "StreamForest(10)"

CLASS_MODELS: dict[str, Callable[[int], Any]] = {
    FOREST: lambda seed: StreamForestClassifier(10, random_state=seed, n_jobs=1),
    "soft Hoeffding tree": lambda seed: SoftHoeffdingTreeClassifier(random_state=seed),
    "Hoeffding tree": lambda seed: HoeffdingTreeClassifier(),
}
REAL_MODELS: dict[str, Callable[[int], Any]] = {
    FOREST: lambda seed: StreamForestRegressor(10, random_state=seed, n_jobs=1),
    "soft Hoeffding tree": lambda seed: SoftHoeffdingTreeRegressor(random_state=seed),
    "Hoeffding tree": lambda seed: HoeffdingTreeRegressor(),
}
# As CapyMOA makes them with its defaults, except for the number of trees.
ADWINS = "-x (ADWINChangeDetector -a 0.001) -p (ADWINChangeDetector -a 0.01)"
MOA_CLASS_MODELS = {
    "MOA HT": "trees.HoeffdingTree -m 33554433 -c 0.001 -z -p",
    "MOA HAT": "trees.HoeffdingAdaptiveTree -m 33554433 -c 0.001 -z -p",
    "MOA ARF(10)": f"meta.AdaptiveRandomForest -s 10 {ADWINS}",
    "MOA SRP(10)": "meta.StreamingRandomPatches -s 10",
    "MOA LB(10)": "meta.LeveragingBag -s 10",
}
MOA_REAL_MODELS = {
    "MOA FIMTDD": "trees.FIMTDD -s VarianceReductionSplitCriterion",
    "MOA ARF(10)": f"meta.AdaptiveRandomForestRegressor -s 10 {ADWINS}",
    "MOA SGBR": "meta.StreamingGradientBoostedRegression -l (meta.OzaBag -l (trees.FIMTDD -s "
    "VarianceReductionSplitCriterion -g 50 -c 0.01 -e)) -r 0",
}


# Names for each task, ours first.
MODELS = {"classes": (*CLASS_MODELS, *MOA_CLASS_MODELS), "reals": (*REAL_MODELS, *MOA_REAL_MODELS)}


def run_stream(name: str, rows: Table, seed: int, seconds: float) -> list[Sums]:
    """Test and train a model on the rows; the sums after each `STEP` rows, until its processor seconds are used up."""
    own, moa = (CLASS_MODELS, MOA_CLASS_MODELS) if rows.is_class else (REAL_MODELS, MOA_REAL_MODELS)
    return _in_blocks(own[name](seed), rows, seconds) if name in own else _in_java(moa[name], rows, seed, seconds)


def _in_blocks(model: Any, rows: Table, seconds: float) -> list[Sums]:
    model.set_params(categorical_features=rows.is_nominal if rows.is_nominal.any() else None)
    known = {"classes": np.arange(rows.n_classes)} if rows.is_class else {}
    found, sums = [], Sums()
    for begin in range(0, len(rows.y), STEP):
        X, y = rows.X[begin : begin + STEP], rows.y[begin : begin + STEP]
        start = time.process_time()
        out = model.test_then_train(X, y, **known)
        taken = sums.seconds + time.process_time() - start
        if rows.is_class:
            errors = float(np.count_nonzero(out.argmax(axis=1) != y))
            losses = -float(np.log(np.clip(out[np.arange(len(y)), y], LEAST, 1.0)).sum())
        else:
            errors, losses = float(np.abs(out - y).sum()), float(((out - y) ** 2).sum())
        sums = Sums(sums.n + len(y), sums.errors + errors, sums.losses + losses, taken)
        found.append(sums)
        if taken > seconds:
            break
    return found


def jar() -> Path:
    """The Java classes of CapyMOA; an error that says how to get them."""
    found = importlib.util.find_spec("capymoa")
    if found is None or found.origin is None:
        raise SystemExit("The learners of MOA are those of CapyMOA: pip install capymoa (and Java 17 or later).")
    return Path(found.origin).parent / "jar" / "moa.jar"


@cache
def _compiled() -> tempfile.TemporaryDirectory:
    """A folder with the loop, compiled; it is removed when Python ends."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run(["javac", "-cp", str(jar()), "-d", folder.name, str(LOOP)], check=True)
    return folder


def _in_java(learner: str, rows: Table, seed: int, seconds: float) -> list[Sums]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arff"
        path.write_text(as_arff(rows), encoding="utf-8")
        wanted = (f"moa.classifiers.{learner}", seed, path, STEP, str(rows.is_class).lower(), LEAST, seconds)
        classes = f"{jar()}{os.pathsep}{_compiled().name}"
        command = ["java", "-XX:+UseSerialGC", "-Xmx2g", "-cp", classes, LOOP.stem, *map(str, wanted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{learner}: {done.stderr}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return [Sums(int(n), float(errors), float(losses), float(taken)) for n, errors, losses, taken in lines]


def as_arff(rows: Table) -> str:
    """The rows in the format of MOA, the class or target in the last column."""
    kinds = [_values(rows.X[:, j]) if nominal else "numeric" for j, nominal in enumerate(rows.is_nominal)]
    kinds.append(_values(np.arange(rows.n_classes)) if rows.is_class else "numeric")
    head = ["@relation rows", *(f"@attribute a{j} {kind}" for j, kind in enumerate(kinds)), "@data"]
    formats = [*("%d" if nominal else "%.17g" for nominal in rows.is_nominal), "%d" if rows.is_class else "%.17g"]
    line = ",".join(formats)
    return "\n".join([*head, *(line % (*x, y) for x, y in zip(rows.X.tolist(), rows.y.tolist(), strict=True))]) + "\n"


def _values(column: np.ndarray) -> str:
    return "{" + ",".join(str(int(value)) for value in np.unique(column)) + "}"
