"""Speed of the kernel tree, as ratios to peers measured in the same run.

Run:  python benchmarks/kernel_tree.py [--times 3] [--only NAME ...] [--write docs/comparisons/benchmarks.md]

The peer is scikit-learn's DecisionTreeClassifier, an exact search on one thread, unless a row names another: histogram
trees are also compared with one tree of LightGBM's and of scikit-learn's histogram boosting, with as many leaves, bins
and threads as ours. Every figure is the median of a few repetitions on warm code, ours and the peer's in turn; one
thread unless a row says otherwise. Accuracy is on held-out rows. Data are synthetic and seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import TIME_IT, Data, blobs, compare, letter_like, machine, merge_rows, run_python, write_page
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from softwood import KernelTreeClassifier

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None


def fit_row(name: str, data: Data, target: float, times: int, **parameters: object) -> dict:
    X, y, X_test, y_test = data
    model = KernelTreeClassifier(**{"max_leaf_nodes": None, **parameters})
    cart = DecisionTreeClassifier(random_state=0)
    ours, peer = compare(lambda: model.fit(X, y), lambda: cart.fit(X, y), times)
    return {
        "work": name, "ours": ours, "peer": peer, "ratio": ours / peer, "target": target,
        "accuracy": model.score(X_test, y_test), "peer accuracy": cart.score(X_test, y_test),
        "leaves": model.get_n_leaves(),
    }  # fmt: skip


def row_binary(times: int) -> list[dict]:
    data = blobs(100_000, 20, 2)
    return [fit_row("fit 100 000 × 20, 2 classes, h = 0.1, hist", data, 0.35, times, bandwidth=0.1, splitter="hist")]


def row_classes(times: int) -> list[dict]:
    data = blobs(20_000, 16, 26)
    return [fit_row("fit 20 000 × 16, 26 classes, h = 0.1, auto", data, 2.0, times, bandwidth=0.1)]


def row_wide_bandwidth(times: int) -> list[dict]:
    return [
        fit_row("fit letter-like 20 000 × 16, 26 classes, h = 1", letter_like(), 60.0, times, bandwidth=1.0),
        fit_row("the same with 20 000 different values", blobs(20_000, 16, 26), 60.0, times, bandwidth=1.0),
    ]


def row_exact(times: int) -> list[dict]:
    data = blobs(5_000, 50, 2)
    return [fit_row("fit 5 000 × 50, 2 classes, h = 0.03, exact", data, 1.5, times, bandwidth=0.03, splitter="exact")]


def histogram_rows(name: str, data: Data, times: int, threads: int, **parameters: object) -> list[dict]:
    """Ours beside one tree of each histogram library: the same bins, number of leaves and threads."""
    X, y, X_test, y_test = data
    model = KernelTreeClassifier(splitter="hist", n_jobs=threads, **{"max_leaf_nodes": None, **parameters})
    leaves = model.fit(X, y).get_n_leaves()
    peers = {
        "one tree of scikit-learn's histogram boosting": HistGradientBoostingClassifier(
            max_iter=1, learning_rate=1.0, max_leaf_nodes=leaves, min_samples_leaf=1, early_stopping=False,
        ),
    }  # fmt: skip
    if LGBMClassifier is None:
        print("LightGBM is not installed: its rows are left out (pip install lightgbm)")
    else:
        peers["one tree of LightGBM"] = LGBMClassifier(
            n_estimators=1, learning_rate=1.0, num_leaves=leaves, min_child_samples=1, min_child_weight=0.0,
            max_bin=255, n_jobs=threads, verbose=-1,
        )  # fmt: skip
    out = []
    for peer_name, peer in peers.items():
        with threadpool_limits(threads, "openmp"):  # the way to tell scikit-learn's
            ours, theirs = compare(lambda: model.fit(X, y), lambda p=peer: p.fit(X, y), times)
        out.append({
            "work": f"{name}; peer: {peer_name}", "ours": ours, "peer": theirs, "ratio": ours / theirs,
            "accuracy": model.score(X_test, y_test), "peer accuracy": peer.score(X_test, y_test), "leaves": leaves,
        })  # fmt: skip
    return out


def row_histogram(times: int) -> list[dict]:
    data, threads = blobs(100_000, 20, 2), ("one thread", "two threads")
    return [
        row
        for h in (0.0, 0.1)
        for n in (1, 2)
        for row in histogram_rows(f"fit 100 000 × 20, h = {h:g}, {threads[n - 1]}", data, times, n, bandwidth=h)
    ]


def row_million(times: int) -> list[dict]:
    """CART once, whatever `times` says: it takes minutes."""
    data = blobs(1_000_000, 20, 2)
    row = fit_row(
        "fit 1 000 000 × 20, h = 0.03, hist, two threads; peer: exact, one thread", data, 0.15, 1, bandwidth=0.03,
        splitter="hist", n_jobs=2,
    )  # fmt: skip
    row["memory"] = peak_memory_ratio()
    fair = histogram_rows("fit 1 000 000 × 20, h = 0.03, two threads", data, min(times, 3), 2, bandwidth=0.03)
    return [row, *fair]


def peak_memory_ratio() -> float:
    """Extra peak memory of a fit of 1 000 000 × 20 in units of the bytes of X, in a process of its own."""
    code = (
        "import numpy as np; from softwood import KernelTreeClassifier\n"
        "def memory(what):  # of this process alone; rusage would count what its parent had\n"
        "    return [int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith(what)][0]\n"
        "rng = np.random.default_rng(0); X = rng.normal(size=(1_000_000, 20))\n"
        "y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)\n"
        "model = KernelTreeClassifier(bandwidth=0.03, splitter='hist', n_jobs=2, max_leaf_nodes=None)\n"
        "model.fit(X[:20_000].copy(), y[:20_000])\n"
        "before = memory('VmRSS')\n"
        "model.fit(X, y)\n"
        "print((memory('VmHWM') - before) / X.nbytes)\n"
    )
    return float(run_python(code))


def row_predict(times: int) -> list[dict]:
    X, y, X_test, y_test = blobs(100_000, 20, 2)
    rows = np.resize(X_test, (20_000, X.shape[1]))
    cart = DecisionTreeClassifier(random_state=0).fit(X, y)
    out = []
    for name, kernel, target in (("on", "same", 3.0), ("off", None, 1.2)):
        model = KernelTreeClassifier(bandwidth=0.1, prediction_kernel=kernel, max_leaf_nodes=None).fit(X, y)
        ours, peer = compare(lambda m=model: m.predict(rows), lambda: cart.predict(rows), 5 * times)
        out.append({
            "work": f"predict 20 000 rows, h = 0.1, prediction kernel {name}", "ours": ours, "peer": peer,
            "ratio": ours / peer, "target": target, "accuracy": model.score(X_test, y_test),
            "peer accuracy": cart.score(X_test, y_test), "leaves": model.get_n_leaves(),
        })  # fmt: skip
    return out


def row_small(times: int) -> list[dict]:
    X, y = load_iris(return_X_y=True)
    fixed, default = KernelTreeClassifier(bandwidth=0.3, max_leaf_nodes=None), KernelTreeClassifier()
    cart = DecisionTreeClassifier()
    ours, peer = compare(lambda: fixed.fit(X, y), lambda: cart.fit(X, y), 10 * times)
    chosen, _ = compare(lambda: default.fit(X, y), lambda: None, times)
    return [
        {"work": "fit 150 × 4, bandwidth given", "ours": ours, "peer": peer, "ratio": ours / peer, "limit": 0.002},
        {"work": "fit 150 × 4, bandwidth chosen", "ours": chosen, "peer": peer, "ratio": chosen / peer, "limit": 1.0},
    ]


def row_leaves(times: int) -> list[dict]:
    """Best-first growth of small trees, which choosing a size consists of."""
    rows = []
    for words, data, leaves in (("30 000 × 20, 2 classes", blobs(30_000, 20, 2), 64),
                                ("20 000 × 16, 26 classes", blobs(20_000, 16, 26), 256)):  # fmt: skip
        for h in (0.3, 0.65):
            work = f"fit {words}, {leaves} leaves, h = {h:g}"
            rows.append(fit_row(work, data, 0.5, times, bandwidth=h, max_leaf_nodes=leaves))
    return rows


def row_default(times: int) -> list[dict]:
    """The default fit, the choice of size and bandwidth included, against one fit of CART."""
    X, y = make_classification(1_000, 1_000, n_informative=20, random_state=0)
    return [
        default_row("30 000 × 20, 2 classes", blobs(30_000, 20, 2), 3.0, times),
        default_row("20 000 × 16, 26 classes", blobs(20_000, 16, 26), 10.0, times),
        default_row("the same, letter-like", letter_like(), 10.0, times),
        default_row("500 × 1 000, 2 classes", (X[:500], y[:500], X[500:], y[500:]), 10.0, times),
    ]


def default_row(name: str, data: Data, target: float, times: int) -> dict:
    X, y, X_test, y_test = data
    model, cart = KernelTreeClassifier(random_state=0).fit(X, y), DecisionTreeClassifier(random_state=0)
    ours, peer = compare(lambda: model.fit(X, y), lambda: cart.fit(X, y), times)
    return {
        "work": f"default fit {name} (chosen h = {model.bandwidth_:.2g})", "ours": ours, "peer": peer,
        "ratio": ours / peer, "target": target, "accuracy": model.score(X_test, y_test),
        "peer accuracy": cart.score(X_test, y_test), "leaves": model.get_n_leaves(),
    }  # fmt: skip


def row_start(times: int) -> list[dict]:
    """Importing; benchmarks/first_use.py measures first fits."""
    base = min(float(run_python(TIME_IT.format("import sklearn"))) for _ in range(5))
    both = min(float(run_python(TIME_IT.format("import sklearn, softwood"))) for _ in range(5))
    return [{"work": "`import softwood` beside `import sklearn`", "ours": both - base, "limit": 0.1}]


def growth(times: int) -> list[dict]:
    """How fit time grows: fitted exponents of time against one quantity at a time, CART's beside ours."""
    cases: dict[str, tuple[list, Callable]] = {
        "rows (2 000 to 64 000)": ([2_000, 8_000, 32_000, 64_000], lambda v: (blobs(v, 20, 2), 0.1)),
        "columns (5 to 80)": ([5, 20, 80], lambda v: (blobs(10_000, v, 2), 0.1)),
        "classes (2 to 32)": ([2, 8, 32], lambda v: (blobs(10_000, 20, v), 0.1)),
        "bandwidth (0.05 to 0.8)": ([0.05, 0.2, 0.8], lambda v: (blobs(10_000, 20, 2), v)),
    }
    out = []
    for name, (values, case) in cases.items():
        ours, peers = [], []
        for value in values:
            (X, y, _, _), bandwidth = case(value)
            model = KernelTreeClassifier(bandwidth=bandwidth, splitter="hist", max_leaf_nodes=None)
            cart = DecisionTreeClassifier(random_state=0)
            a, b = compare(lambda m=model, X=X, y=y: m.fit(X, y), lambda c=cart, X=X, y=y: c.fit(X, y), times)
            ours.append(a)
            peers.append(b)
        slope = [float(np.polyfit(np.log(values), np.log(t), 1)[0]) for t in (ours, peers)]
        out.append({"quantity": name, "ours": slope[0], "peer": slope[1], "seconds": ours})
    return out


ROWS: dict[str, Callable[[int], list[dict]]] = {
    "binary": row_binary, "histogram": row_histogram, "classes": row_classes, "wide": row_wide_bandwidth,
    "exact": row_exact, "million": row_million, "predict": row_predict, "small": row_small, "leaves": row_leaves,
    "default": row_default, "start": row_start,
}  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = [
        "| work | ours (s) | peer (s) | ratio | target | met | accuracy | peer's | leaves |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        goal, met = "", ""
        if "target" in r:
            goal, met = f"≤ {r['target']:g} ×", "yes" if r["ratio"] <= r["target"] else "no"
        elif "limit" in r:
            goal, met = f"≤ {r['limit']:g} s", "yes" if r["ours"] <= r["limit"] else "no"

        def shown(key: str, form: str, r: dict = r) -> str:
            return format(r[key], form) if key in r else ""

        lines.append(
            f"| {r['work']} | {r['ours']:.4g} | {shown('peer', '.4g')} | {shown('ratio', '.2f')} | {goal} | "
            f"{met} | {shown('accuracy', '.3f')} | {shown('peer accuracy', '.3f')} | {shown('leaves', 'd')} |"
        )
        if "memory" in r:
            met = r["memory"] <= 3
            lines.append(
                f"| extra memory of it, in bytes of X | {r['memory']:.2f} | | | ≤ 3 | {'yes' if met else 'no'} | | | |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS, "growth"], help="only these rows")
    parser.add_argument("--times", type=int, default=3, help="repetitions")
    parser.add_argument(
        "--write", type=Path, help="put the tables, or with --only the rows, between this page's markers"
    )
    options = parser.parse_args()
    wanted = options.only or [*ROWS, "growth"]
    rows: list[dict] = []
    for name in wanted:
        if name != "growth":
            found = ROWS[name](options.times)
            rows += found
            print(table(found).split("\n", 2)[2], flush=True)
    text = table(rows)
    if "growth" in wanted:
        text += "\n\n| fit time against | our exponent | CART's | our seconds |\n|---|---|---|---|\n"
        for g in growth(max(1, options.times - 1)):
            taken = ", ".join(f"{s:.3g}" for s in g["seconds"])
            text += f"| {g['quantity']} | {g['ours']:.2f} | {g['peer']:.2f} | {taken} |\n"
    text += f"\n{machine()}\n"
    print("\n" + text)
    if options.write and options.only:
        merge_rows(options.write, "kernel_tree", table(rows).splitlines()[2:])
    elif options.write:
        write_page(options.write, "kernel_tree", text)


if __name__ == "__main__":
    main()
