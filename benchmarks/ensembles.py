"""Speed of kernel forests and extra trees, as ratios to scikit-learn measured in the same run.

Run:  python benchmarks/ensembles.py [--only NAME ...] [--times 3] [--threads 2]
                                     [--write docs/comparisons/benchmarks.md]

Every figure is the median of a few repetitions on warm code, ours and the peer's in turn and with the same number of
threads. Accuracy is on held-out rows. Data are synthetic and seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Data, blobs, compare, letter_like, machine, run_python, write_page
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from softwood import KernelExtraTreesClassifier, KernelForestClassifier


def pair(
    work: str, data: Data, ours: Any, peer: Any, times: int, fit_target: float | None, predict_target: float | None
) -> list[dict]:
    """A row for fitting, and one for predicting 20 000 rows."""
    X, y, X_test, y_test = data
    clone(ours).set_params(n_estimators=2).fit(X, y).predict_proba(X_test)  # load modules and fill caches
    fit, peer_fit = compare(lambda: ours.fit(X, y), lambda: peer.fit(X, y), times, is_warm=True)
    rows = np.resize(X_test, (20_000, X.shape[1]))
    predict, peer_predict = compare(lambda: ours.predict_proba(rows), lambda: peer.predict_proba(rows), 3 * times)
    accuracies = {"accuracy": ours.score(X_test, y_test), "peer accuracy": peer.score(X_test, y_test)}
    return [
        {"work": f"fit {work}", "ours": fit, "peer": peer_fit, "target": fit_target, **accuracies},
        {"work": f"predict {work}", "ours": predict, "peer": peer_predict, "target": predict_target},
    ]


def many_classes(ours: Any, peer: Any, name: str, times: int, threads: int, predict_target: float | None) -> list[dict]:
    rows = []
    for words, data in (("20 000 × 16, 26 classes", blobs(20_000, 16, 26)), ("the same, letter-like", letter_like())):
        model = ours(100, bandwidth=0.1, random_state=0, n_jobs=threads)
        work = f"{name}, 100 trees, {words}, h = 0.1"
        rows += pair(work, data, model, peer(100, random_state=0, n_jobs=threads), times, 1.0, predict_target)
    return rows


def row_forest(times: int, threads: int) -> list[dict]:
    return many_classes(KernelForestClassifier, RandomForestClassifier, "forest", times, threads, 2.0)


def row_extra(times: int, threads: int) -> list[dict]:
    return many_classes(KernelExtraTreesClassifier, ExtraTreesClassifier, "extra trees", times, threads, None)


def two_classes(ours: Any, peer: Any, name: str, target: float, threads: int) -> list[dict]:
    """Once: 100 trees on 100 000 rows take long enough to be steady."""
    model = ours(100, bandwidth=0.1, random_state=0, n_jobs=threads)
    work = f"{name}, 100 trees, 100 000 × 20, 2 classes, h = 0.1"
    return pair(work, blobs(100_000, 20, 2), model, peer(100, random_state=0, n_jobs=threads), 1, target, None)


def row_forest_large(times: int, threads: int) -> list[dict]:
    return two_classes(KernelForestClassifier, RandomForestClassifier, "forest", 0.5, threads)


def row_extra_large(times: int, threads: int) -> list[dict]:
    return two_classes(KernelExtraTreesClassifier, ExtraTreesClassifier, "extra trees", 1.0, threads)


def row_threads(times: int, threads: int) -> list[dict]:
    """Time with one thread (in the place of the peer's) against two: a ratio of 1 / 1.7 is wanted."""
    rows = []
    X, y, _, _ = blobs(50_000, 20, 2)
    for name, ours in (("forest", KernelForestClassifier), ("extra trees", KernelExtraTreesClassifier)):
        one, two = (ours(20, bandwidth=0.1, random_state=0, n_jobs=jobs) for jobs in (1, 2))
        both, alone = compare(lambda two=two: two.fit(X, y), lambda one=one: one.fit(X, y), times)
        rows.append({
            "work": f"{name}, 20 trees, 50 000 × 20, h = 0.1: two threads; peer: one thread", "ours": both,
            "peer": alone, "target": 1 / 1.7,
        })  # fmt: skip
    return rows


def row_default(times: int, threads: int) -> list[dict]:
    """Cost of the default bandwidth; the peer is one fit with the bandwidth that it chooses."""
    rows = []
    X, y, X_test, y_test = blobs(20_000, 20, 2)
    for name, ours in (("forest", KernelForestClassifier), ("extra trees", KernelExtraTreesClassifier)):
        model = ours(random_state=0, n_jobs=threads).fit(X, y)
        given = ours(random_state=0, n_jobs=threads, bandwidth=model.bandwidth_)
        chosen, once = compare(lambda m=model: m.fit(X, y), lambda g=given: g.fit(X, y), times)
        rows.append({
            "work": f"default {name}, 20 000 × 20 (chosen {model.bandwidth_:.2g}); peer: one fit with it",
            "ours": chosen, "peer": once, "target": None, "accuracy": model.score(X_test, y_test),
        })  # fmt: skip
    return rows


def row_memory(times: int, threads: int) -> list[dict]:
    """Peak memory of a fit beyond the finished forest, for 10 and for 80 trees, each in a process of its own."""
    rows = []
    for n_trees in (10, 80):
        code = (
            "import pickle, numpy as np; from softwood import KernelForestClassifier\n"
            "def memory(what):\n"
            "    lines = open('/proc/self/status').read().splitlines()\n"
            "    return [int(line.split()[1]) * 1024 for line in lines if line.startswith(what)][0]\n"
            "rng = np.random.default_rng(0); X = rng.normal(size=(50_000, 20))\n"
            "y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)\n"
            f"KernelForestClassifier(2, bandwidth=0.03, n_jobs={threads}).fit(X[:12_000].copy(), y[:12_000])\n"
            "before = memory('VmRSS')\n"
            f"model = KernelForestClassifier({n_trees}, bandwidth=0.03, n_jobs={threads}).fit(X, y)\n"
            "peak = memory('VmHWM') - before\n"
            "print(f'{peak / 2**20:.0f}/{len(pickle.dumps(model.forest_)) / 2**20:.0f}')\n"
        )
        peak, forest = map(float, run_python(code).split("/"))
        rows.append({"work": f"memory of a fit of {n_trees} trees, 50 000 × 20", "peak": peak, "forest": forest})
    return rows


ROWS: dict[str, Callable[[int, int], list[dict]]] = {
    "forest": row_forest, "forest_large": row_forest_large, "extra": row_extra, "extra_large": row_extra_large,
    "threads": row_threads, "default": row_default, "memory": row_memory,
}  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = [
        "| work | ours (s) | peer (s) | ratio | target | met | accuracy | peer's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        if "peak" in r:
            lines.append(
                f"| {r['work']}: peak {r['peak']:.0f} MB, finished forest {r['forest']:.0f} MB | | | | | | | |"
            )
            continue
        ratio, target = r["ours"] / r["peer"], r["target"]
        goal, met = ("", "") if target is None else (f"≤ {target:.2g} ×", "yes" if ratio <= target else "no")
        accuracies = [format(r[key], ".3f") if key in r else "" for key in ("accuracy", "peer accuracy")]
        lines.append(
            f"| {r['work']} | {r['ours']:.3g} | {r['peer']:.3g} | {ratio:.2f} | {goal} | {met} | "
            + " | ".join(accuracies)
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--times", type=int, default=3, help="repetitions")
    parser.add_argument("--threads", type=int, default=2, help="threads, ours and the peer's")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    rows: list[dict] = []
    for name in options.only or ROWS:
        found = ROWS[name](options.times, options.threads)
        rows += found
        print(table(found).split("\n", 2)[2], flush=True)
    text = f"{table(rows)}\n\n{machine()}, {options.threads} threads\n"
    print("\n" + text)
    if options.write:
        write_page(options.write, "ensembles", text)


if __name__ == "__main__":
    main()
