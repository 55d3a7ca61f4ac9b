"""Rows per second of stream models, test then train, on one core, against river and CapyMOA in the same run.

Run:  python benchmarks/streams.py [--peer-python PATH] [--only NAME ...] [--write docs/comparisons/benchmarks.md]

river must be installed beside softwood (`pip install "softwood[streams]"`). PATH is a Python with CapyMOA
(`pip install capymoa`, which needs Java), so that softwood's own environment need not have it. MOA's Hoeffding tree and
ours each generate their rows, are tested, trained and scored from the first row on, and are compared by CPU time.
Streams are synthetic and seeded.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import run_rows

from softwood.stream import (
    LED,
    SEA,
    Agrawal,
    HoeffdingTreeClassifier,
    Hyperplane,
    OversampledClasses,
    RandomRBF,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
    prequential,
)

# MOA's fastest way, the loop in Java over its own generators: generate, test, train and score from the first row on, as
# `prequential` does it for ours. CPU time of all threads, after a short run that loads and compiles what is needed.
CAPYMOA = """
import time
from capymoa.classifier import HoeffdingTree
from capymoa.evaluation import prequential_evaluation
from capymoa.stream.generator import SEA, HyperPlaneClassification, RandomRBFGenerator
for stream in (SEA(), HyperPlaneClassification(number_of_attributes=10),
               RandomRBFGenerator(number_of_attributes=10, number_of_classes=5)):
    best = 0.0
    for n in (20_000, 300_000, 300_000):
        stream.restart()
        learner = HoeffdingTree(schema=stream.get_schema())
        start = time.process_time()
        prequential_evaluation(stream=stream, learner=learner, max_instances=n, window_size=50_000)
        if n > 20_000:
            best = max(best, n / (time.process_time() - start))
    print(best)
"""

BLOCK = 1000


def rate_in_blocks(model: Any, X: np.ndarray, y: np.ndarray, n_before: int) -> float:
    """Rows per second after `n_before` rows, test then train in blocks; the best of three thirds of what is left."""
    classes = np.unique(y)
    model.test_then_train(X[:n_before], y[:n_before], classes=classes)
    rates = []
    for part in np.array_split(np.arange(n_before, len(X)), 3):
        start = time.process_time()
        for begin in range(part[0], part[-1] + 1, BLOCK):
            rows = slice(begin, min(begin + BLOCK, part[-1] + 1))
            model.test_then_train(X[rows], y[rows])
        rates.append(len(part) / (time.process_time() - start))
    return max(rates)


def rate_of_dicts(model: Any, rows: list[tuple[dict, int]]) -> float:
    """Rows per second of `predict_proba_one` and `learn_one`, after a third of the rows."""
    third = len(rows) // 3
    for x, y in rows[:third]:
        model.predict_proba_one(x)
        model.learn_one(x, y)
    rates = []
    for part in (rows[third : 2 * third], rows[2 * third :]):
        start = time.process_time()
        for x, y in part:
            model.predict_proba_one(x)
            model.learn_one(x, y)
        rates.append(len(part) / (time.process_time() - start))
    return max(rates)


def met(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def line(work: str, ours: float, peer: str, ratio: float | None, target: str, is_met: bool | None) -> str:
    words = "" if ratio is None else f"{ratio:.1f} ×"
    return f"| {work} | {ours:,.0f} | {peer} | {words} | {target} | {'' if is_met is None else met(is_met)} |"


def row_soft(_: Path | None) -> list[str]:
    """Soft trees in blocks: as they are grown by default, as published, and complete with every leaf reached."""
    lines = []
    X, y = RandomRBF(n_classes=5, seed=0).take(360_000)
    grown = SoftHoeffdingTreeClassifier(random_state=0)
    rate = rate_in_blocks(grown, X, y, 300_000)
    inner = grown.growth_.n_inner
    work = f"soft Hoeffding tree, RBF, 10 features, 5 classes, depth 7, {inner} of 127 inner nodes, blocks"
    lines.append(line(work, rate, "", None, "≥ 60 000/s", rate >= 60_000))
    X, y = Hyperplane(magnitude=0.001, seed=0).take(360_000)
    grown = SoftHoeffdingTreeClassifier(random_state=0)
    rate = rate_in_blocks(grown, X, y, 300_000)
    work = f"the same, rotating hyperplane, 2 classes, {grown.growth_.n_inner} of 127"
    lines.append(line(work, rate, "", None, "≥ 60 000/s", rate >= 60_000))
    published = SoftHoeffdingTreeClassifier.as_published(random_state=0)
    rate = rate_in_blocks(published, X, y, 300_000)
    lines.append(line(f"the same, as published, {published.growth_.n_inner} of 127", rate, "", None, "", None))
    # A smooth step so wide that no row leaves it: all of the 255 nodes are visited, forward and backward.
    complete = SmoothStepTreeClassifier(max_depth=7, gamma=1000.0, random_state=0)
    rate = rate_in_blocks(complete, X[:60_000], y[:60_000], 10_000)
    work = "complete soft tree, depth 7, every row in all 128 leaves (the worst case)"
    lines.append(line(work, rate, "", None, "", None))
    return lines


def row_forest(_: Path | None) -> list[str]:
    """Forests of ten trees in blocks, after 10 000 rows."""
    streams = {
        "SEA, 10 % noise": SEA(noise=0.1, seed=0), "hyperplane": Hyperplane(magnitude=0.001, seed=0),
        "RBF, moving, 5 classes": RandomRBF(n_classes=5, speed=0.001, seed=0),
        "Agrawal, drifts": Agrawal(functions=(2, 5), drift_every=5_000, seed=0),
    }  # fmt: skip
    lines = []
    for name, stream in streams.items():
        rate = rate_in_blocks(StreamForestClassifier(random_state=0), *stream.take(25_000), 10_000)
        lines.append(line(f"stream forest of 10 trees, {name}, blocks", rate, "", None, "≥ 40 000/s", rate >= 40_000))
    return lines


def rate_of_run(stream: Any) -> float:
    """Rows per second of CPU time: a Hoeffding tree from the first row on; rows are generated, learned and scored."""
    rates = []
    for n in (20_000, 300_000, 300_000):
        stream.restart()
        start = time.process_time()
        prequential(HoeffdingTreeClassifier(), stream, max_samples=n, measures="accuracy", window=50_000)
        rates.append(n / (time.process_time() - start))
    return max(rates[1:])


def row_hoeffding(python: Path | None) -> list[str]:
    """Hoeffding trees, naive Bayes adaptive leaves, against MOA."""
    streams = {"SEA": SEA(seed=0), "hyperplane": Hyperplane(seed=0), "RBF, 5 classes": RandomRBF(n_classes=5, seed=0)}
    peers = [""] * len(streams)
    if python is not None:
        done = subprocess.run([python, "-c", CAPYMOA], capture_output=True, text=True, check=True)
        peers = done.stdout.split()[-len(streams) :]
    lines = []
    for (name, stream), peer in zip(streams.items(), peers, strict=True):
        rate = rate_of_run(stream)
        ratio = rate / float(peer) if peer else None
        is_met = rate >= 400_000 and (ratio is None or ratio >= 3)
        shown = f"CapyMOA {float(peer):,.0f}" if peer else ""
        work = f"Hoeffding tree, {name}: generate, test, train and score 300 000 rows, CPU time"
        lines.append(line(work, rate, shown, ratio, "≥ 400 000/s, ≥ 3 ×", is_met))
    return lines


def row_dicts(_: Path | None) -> list[str]:
    """Dicts, row by row, against river."""
    from river import tree

    from softwood.stream import river as ours

    rows = [(x, int(y)) for x, y in zip(*_as_dicts(Hyperplane(magnitude=0.001, seed=0), 60_000), strict=True)]
    peers = {leaf: rate_of_dicts(tree.HoeffdingTreeClassifier(leaf_prediction=leaf), rows) for leaf in ("nba", "mc")}
    lines = []
    rate = rate_of_dicts(ours.SoftHoeffdingTreeClassifier(seed=0), rows)
    goal = "≥ 20 × 800/s, ≥ river's Hoeffding tree"
    shown = f"river, nba {peers['nba']:,.0f}"
    is_met = rate >= max(16_000, peers["nba"])
    lines.append(line("soft Hoeffding tree, dicts", rate, shown, rate / peers["nba"], goal, is_met))
    for leaf, peer in peers.items():
        rate = rate_of_dicts(ours.HoeffdingTreeClassifier(leaf_prediction=leaf), rows)
        work = f"Hoeffding tree, dicts, leaves {leaf!r}"
        lines.append(line(work, rate, f"river, {leaf} {peer:,.0f}", rate / peer, "≥ 3 ×", rate >= 3 * peer))
    return lines


def row_ids(_: Path | None) -> list[str]:
    """Dicts with a text that no other row has: each of the first ones is a new category. From the first row on."""
    from river import forest, tree

    from softwood.stream import river as ours

    found, labels = _as_dicts(Hyperplane(n_features=4, seed=0), 3_000)
    # names of one type, as river's forest sorts them
    rows = [
        ({str(name): value for name, value in x.items()} | {"id": f"row {i}"}, int(y))
        for i, (x, y) in enumerate(zip(found, labels, strict=True))
    ]

    def rate(make: Callable[[], Any], n: int) -> float:
        for x, y in rows[:5]:
            make().learn_one(x, y)  # modules are loaded before the clock starts
        model, start = make(), time.process_time()
        for x, y in rows[:n]:
            model.predict_proba_one(x)
            model.learn_one(x, y)
        return n / (time.process_time() - start)

    peers: dict[str, tuple[str, Callable[[], Any], Callable[[], Any]]] = {
        "soft Hoeffding tree": (
            "Hoeffding tree",
            lambda: ours.SoftHoeffdingTreeClassifier(seed=0),
            tree.HoeffdingTreeClassifier,
        ),
        "Hoeffding tree": ("Hoeffding tree", ours.HoeffdingTreeClassifier, tree.HoeffdingTreeClassifier),
        "stream forest of 10": (
            "ARF",
            lambda: ours.StreamForestClassifier(seed=0),
            lambda: forest.ARFClassifier(seed=0),
        ),
    }
    lines = []
    for name, (peer, make, make_peer) in peers.items():
        for n in (len(rows), 300):
            own, other = rate(make, n), rate(make_peer, n)
            work = f"{name}, dicts with IDs, first {n:,} rows"
            lines.append(line(work, own, f"river's {peer} {other:,.0f}", own / other, "≥ river's", own >= other))
    return lines


def _as_dicts(stream: Any, n: int) -> tuple[list[dict], list[int]]:
    X, y = stream.take(n)
    return [dict(enumerate(row)) for row in X.tolist()], y.tolist()


def row_generators(_: Path | None) -> list[str]:
    """Generators, blocks of 10 000."""
    X, y = RandomRBF(n_classes=5, seed=0).take(5_000)
    streams = {
        "SEA": SEA(noise=0.1, drift_every=50, seed=0),
        "hyperplane": Hyperplane(magnitude=0.001, seed=0),
        "RBF, moving": RandomRBF(n_classes=5, speed=0.001, seed=0),
        "Agrawal, perturbed": Agrawal(perturbation=0.1, seed=0),
        "LED": LED(noise=0.1, seed=0),
        "oversampled classes, 10 columns": OversampledClasses(X, y, n_samples=2_000_000, seed=0),
    }
    lines = []
    for name, stream in streams.items():
        stream.take(10_000)
        rates = []
        for _ in range(3):
            start = time.process_time()
            for _ in stream.blocks(300_000, 10_000):
                pass
            rates.append(300_000 / (time.process_time() - start))
        lines.append(line(f"generator, {name}", max(rates), "", None, "≥ 2 000 000/s", max(rates) >= 2e6))
    return lines


ROWS: dict[str, Callable[[Path | None], list[str]]] = {
    "soft": row_soft, "forest": row_forest, "hoeffding": row_hoeffding, "dicts": row_dicts, "ids": row_ids,
    "generators": row_generators,
}  # fmt: skip


if __name__ == "__main__":
    run_rows("streams", __doc__, "CapyMOA", "| work | rows per second | peer's | ratio | target | met |", ROWS)
