"""Speed of kernel boosting, as ratios to LightGBM measured in the same run.

Run:  python benchmarks/boosting.py [--only NAME ...] [--times 3] [--write docs/comparisons/benchmarks.md]

Both have 100 rounds, 31 leaves, up to 255 bins, at least 20 rows in a leaf and a learning rate of 0.1, and the same
number of threads. Every figure is the median of a few repetitions on warm code, ours and the peer's in turn. Accuracy
and log loss are those of held-out rows. Data are synthetic and seeded. LightGBM: pip install lightgbm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Data, blobs, compare, letter_like, machine, merge_rows, write_page
from sklearn.base import clone
from sklearn.metrics import log_loss

from softwood import KernelBoostingClassifier

# Largest ratio of a fit to LightGBM's, by bandwidth; of predictions; and of two fits at once to one alone.
FIT_TARGETS, PREDICT_TARGET, AT_ONCE_TARGET = {0.0: 1.2, 0.05: 2.0}, 2.0, 3.0


def models(bandwidth: float, threads: int) -> tuple[Any, Any]:
    """Ours and LightGBM's."""
    from lightgbm import LGBMClassifier

    ours = KernelBoostingClassifier(
        bandwidth=bandwidth, max_iter=100, max_leaf_nodes=31, max_bins=255, min_mass=20, l2_regularization=0.0,
        early_stopping=False, random_state=0, n_jobs=threads,
    )  # fmt: skip
    peer = LGBMClassifier(
        n_estimators=100, num_leaves=31, max_bin=255, min_child_samples=20, n_jobs=threads, verbose=-1
    )
    return ours, peer


def pair(words: str, data: Data, bandwidth: float, threads: int, times: int) -> list[dict]:
    """A row for fitting, and one for predicting 20 000 rows."""
    X, y, X_test, y_test = data
    ours, peer = models(bandwidth, threads)
    clone(ours).set_params(max_iter=2).fit(X, y).predict_proba(X_test)  # load modules and fill caches
    fit, peer_fit = compare(lambda: ours.fit(X, y), lambda: peer.fit(X, y), times, is_warm=True)
    rows = np.resize(X_test, (20_000, X.shape[1]))
    predict, peer_predict = compare(lambda: ours.predict_proba(rows), lambda: peer.predict_proba(rows), 3 * times)
    quality = {
        "accuracy": (ours.score(X_test, y_test), peer.score(X_test, y_test)),
        "log loss": tuple(log_loss(y_test, model.predict_proba(X_test)) for model in (ours, peer)),
    }
    work = f"{words}, h = {bandwidth:g}, {'1 thread' if threads == 1 else f'{threads} threads'}"
    target = FIT_TARGETS[bandwidth]
    return [
        {"work": f"fit {work}", "ours": fit, "peer": peer_fit, "target": target, **quality},
        {"work": f"predict {work}", "ours": predict, "peer": peer_predict, "target": PREDICT_TARGET},
    ]


def pairs(words: str, data: Data, times: int, bandwidths: tuple[float, ...] = (0.0, 0.05)) -> list[dict]:
    """With one and with two threads."""
    return [row for h in bandwidths for threads in (1, 2) for row in pair(words, data, h, threads, times)]


def row_two_classes(times: int) -> list[dict]:
    return pairs("100 000 × 20, 2 classes", blobs(100_000, 20, 2), times)


def row_large(times: int) -> list[dict]:
    return pairs("1 000 000 × 20, 2 classes", blobs(1_000_000, 20, 2), min(times, 2), (0.0,))


def row_large_soft(times: int) -> list[dict]:
    return pairs("1 000 000 × 20, 2 classes", blobs(1_000_000, 20, 2), min(times, 2), (0.05,))


def row_classes(times: int) -> list[dict]:
    return pairs("20 000 × 16, 26 classes", blobs(20_000, 16, 26), times)


def row_letter(times: int) -> list[dict]:
    return pairs("20 000 × 16, 26 classes, letter-like", letter_like(), times)


def row_default(times: int) -> list[dict]:
    """Cost of the default, which chooses its settings; the peer is LightGBM at its defaults, of 100 rounds."""
    from lightgbm import LGBMClassifier

    def row(n: int) -> dict:
        X, y, _, _ = blobs(n, 20, 2)
        model, peer = KernelBoostingClassifier(random_state=0, n_jobs=1), LGBMClassifier(n_jobs=1, verbose=-1)
        ours, theirs = compare(lambda: model.fit(X, y), lambda: peer.fit(X, y), times)
        words = f"default, {n // 1000} 000 × 20, 1 thread: the choice and {model.n_iter_} rounds"
        return {"work": f"{words}; peer: LightGBM's default", "ours": ours, "peer": theirs, "target": 10.0}

    return [row(n) for n in (1_000, 20_000)]


def row_shapes(times: int) -> list[dict]:
    """Both at their defaults, on many classes and on many columns."""
    from lightgbm import LGBMClassifier

    def row(n: int, p: int, classes: int, target: float) -> dict:
        X, y, X_test, y_test = blobs(n, p, classes)
        model, peer = KernelBoostingClassifier(random_state=0, n_jobs=1), LGBMClassifier(n_jobs=1, verbose=-1)
        ours, theirs = compare(lambda: model.fit(X, y), lambda: peer.fit(X, y), times)
        return {
            "work": f"default, {n} × {p}, {classes} classes, 1 thread; peer: LightGBM's default",
            "ours": ours, "peer": theirs, "target": target,
            "accuracy": (model.score(X_test, y_test), peer.score(X_test, y_test)),
            "log loss": tuple(log_loss(y_test, each.predict_proba(X_test)) for each in (model, peer)),
        }  # fmt: skip

    return [row(5_000, 20, 50, 4.0), row(400, 1_000, 2, 5.0)]


AT_ONCE = """
import sys, time
sys.path.insert(0, {folder!r})
from boosting import models
from measuring import blobs
X, y, _, _ = blobs({n}, {p}, {classes})
model = models({bandwidth}, 2)[{which}]
model.fit(X, y)  # load modules and fill caches
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
"""


def seconds_at_once(code: str, n_processes: int) -> float:
    """Time of a fit in each of several processes that start at the same moment; the longest of them."""
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(n_processes)
    ]
    for process in running:  # until all are ready
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return max(float(process.communicate()[0].split()[-1]) for process in running)


def row_at_once(times: int) -> list[dict]:
    """Two fits at once, each with two threads; the peer is one of them alone."""
    rows = []
    for n, p, classes in ((6_000, 36, 6), (100_000, 20, 2)):
        words = f"{n // 1000} 000 × {p}, {classes} classes, h = 0.05"
        for which, name in enumerate(("ours", "LightGBM")):
            code = AT_ONCE.format(
                folder=os.path.dirname(os.path.abspath(__file__)), n=n, p=p, classes=classes, bandwidth=0.05,
                which=which,
            )  # fmt: skip
            both, alone = (
                float(np.median([seconds_at_once(code, n_processes) for _ in range(times)])) for n_processes in (2, 1)
            )
            rows.append({
                "work": f"two fits at once, {words}, 2 threads each, {name}; peer: one alone",
                "ours": both, "peer": alone, "target": AT_ONCE_TARGET if which == 0 else None,
            })  # fmt: skip
    return rows


ROWS: dict[str, Callable[[int], list[dict]]] = {
    "two_classes": row_two_classes, "large": row_large, "large_soft": row_large_soft,
    "classes": row_classes, "letter": row_letter, "default": row_default, "shapes": row_shapes, "at_once": row_at_once,
}  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = [
        "| work | ours (s) | peer (s) | ratio | target | met | accuracy | peer's | log loss | peer's |",
        "|---" * 10 + "|",
    ]
    for row in rows:
        ratio, target = row["ours"] / row["peer"], row["target"]
        goal, met = ("", "") if target is None else (f"≤ {target:.2g} ×", "yes" if ratio <= target else "no")
        quality = [f"{each:.4f}" for name in ("accuracy", "log loss") for each in row.get(name, ())] or [""] * 4
        lines.append(
            f"| {row['work']} | {row['ours']:.3g} | {row['peer']:.3g} | {ratio:.2f} | {goal} | {met} | "
            + " | ".join(quality)
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--times", type=int, default=3, help="repetitions")
    parser.add_argument("--write", type=Path, help="put the table, or with --only its rows, into this page")
    options = parser.parse_args()
    rows: list[dict] = []
    for name in options.only or ROWS:
        found = ROWS[name](options.times)
        rows += found
        print(table(found).split("\n", 2)[2], flush=True)
    text = f"{table(rows)}\n\n{machine()}\n"
    print("\n" + text)
    if options.write and options.only:
        merge_rows(options.write, "boosting", table(rows).splitlines()[2:])
    elif options.write:
        write_page(options.write, "boosting", text)


if __name__ == "__main__":
    main()
