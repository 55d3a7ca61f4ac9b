"""Speed of kernel boosting on a Dask cluster of this machine, beside LightGBM's Dask estimator on the same cluster.

Run:  python benchmarks/dask_models.py [--rows 1000000] [--rounds 100] [--parquet-rows 20000000] [--only NAME ...]
                                       [--write docs/comparisons/benchmarks.md]

Both have 31 leaves, up to 255 bins, at least 20 rows in a leaf and a learning rate of 0.1. Data are 20 seeded normal
columns and two classes, made by the workers. Workers are processes with one thread, which the client reaches directly.
Times are the shorter of two runs for both sides, in turn, after a short warm-up; those from Parquet files are
of one run. --only measures some rows again and keeps the others. LightGBM: pip install lightgbm.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, wait
from measuring import machine, merge_rows, write_page

import softwood
import softwood.dask

P = 20


def block(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3:8].sum(axis=1) / 2
    return X, (score + rng.normal(size=n) > 0).astype(np.int64)


def table(n: int, n_parts: int) -> tuple[da.Array, da.Array]:
    """The same table in as many parts as wanted: made of 64 blocks."""
    sizes = [n // 64 + (k < n % 64) for k in range(64)]
    made = [dask.delayed(block)(k, size) for k, size in enumerate(sizes)]
    X = da.concatenate([da.from_delayed(each[0], (size, P), float) for each, size in zip(made, sizes, strict=True)])
    y = da.concatenate([da.from_delayed(each[1], (size,), np.int64) for each, size in zip(made, sizes, strict=True)])
    rows = -(-n // n_parts)
    return X.rechunk((rows, P)), y.rechunk(rows)


@contextmanager
def cluster(n_workers: int, **options: Any) -> Iterator[Client]:
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options) as started,
        Client(started, direct_to_workers=True) as client,
    ):
        yield client


def ours(rounds: int, bandwidth: float = 0.0) -> Any:
    return softwood.dask.KernelBoostingClassifier(
        max_iter=rounds, bandwidth=bandwidth, early_stopping=False, random_state=0
    )


def clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def shortest(*works: Callable[[], object]) -> list[float]:
    """The shorter time of two runs of each, in turn, so that a slow minute of the machine hits all."""
    return [min(times) for times in zip(*[[clock(work) for work in works] for _ in range(2)], strict=True)]


def persisted(client: Client, n: int, n_parts: int) -> tuple[da.Array, da.Array]:
    X, y = client.persist(table(n, n_parts))
    wait([X, y])
    return X, y


def warm(client: Client, *bandwidths: float) -> None:
    """Load modules on all workers."""
    X, y = persisted(client, 4000, len(client.nthreads()))
    for bandwidth in bandwidths:
        ours(2, bandwidth).fit(X, y)


def beside_lightgbm(options: argparse.Namespace) -> list[str]:
    """On the same cluster of two workers and the same data; and in memory, with two threads."""
    from lightgbm import DaskLGBMClassifier, LGBMClassifier

    n, rounds, lines = options.rows, options.rounds, []
    with cluster(2) as client:
        warm(client, 0.0, 0.1)
        X, y = persisted(client, n, 2)
        peer = DaskLGBMClassifier(client=client, n_estimators=rounds, num_leaves=31, max_bin=255, verbose=-1)
        on_cluster, theirs, soft = shortest(
            lambda: ours(rounds).fit(X, y), lambda: peer.fit(X, y), lambda: ours(rounds, 0.1).fit(X, y)
        )
        lines += [
            f"| two workers, h = 0 | {on_cluster:.1f} s | LightGBM's Dask estimator: {theirs:.1f} s | "
            f"{on_cluster / theirs:.2f} | 2 |",
            f"| two workers, h = 0.1 | {soft:.1f} s | the same | {soft / theirs:.2f} | |",
        ]
        local_X, local_y = dask.compute(X, y)

    def fit(model: Any) -> Callable[[], object]:
        model.fit(local_X[:4000], local_y[:4000])
        return lambda: model.fit(local_X, local_y)

    by_level, by_node = (
        softwood.KernelBoostingClassifier(
            max_iter=rounds, bandwidth=0.0, early_stopping=False, random_state=0, growth=growth, n_jobs=2
        )
        for growth in ("level", "node")
    )
    peer = LGBMClassifier(n_estimators=rounds, num_leaves=31, max_bin=255, verbose=-1, n_jobs=2)
    levels, nodes, theirs = shortest(fit(by_level), fit(by_node), fit(peer))
    lines += [
        f'| the same, h = 0 | {on_cluster:.1f} s | local, two threads, growth="level": {levels:.1f} s | '
        f"{on_cluster / levels:.2f} | 1.5 |",
        f"| local, two threads, by levels | {levels:.1f} s | LightGBM: {theirs:.1f} s | {levels / theirs:.2f} | |",
        f"| local, two threads, by nodes | {nodes:.1f} s | the same | {nodes / theirs:.2f} | |",
    ]
    return lines


def workers_and_parts(options: argparse.Namespace) -> list[str]:
    """How time grows with workers and parts, and what is exchanged."""
    n, rounds, lines = options.rows, options.rounds, []
    for n_workers, parts in ((1, (2,)), (2, (2, 8, 32))):
        with cluster(n_workers) as client:
            warm(client, 0.0)
            for n_parts in parts:
                X, y = persisted(client, n, n_parts)
                model = ours(rounds)
                (taken,) = shortest(lambda model=model, X=X, y=y: model.fit(X, y))
                traffic = model.traffic_
                lines.append(
                    f"| {n_workers} worker{'s' * (n_workers > 1)}, {n_parts} parts | {taken:.1f} s | "
                    f"{traffic['exchanges'] / rounds:.1f} exchanges and {traffic['bytes'] / rounds / 1e6:.1f} MB in a "
                    "round | | |"
                )
                del X, y
    return lines


def constants(options: argparse.Namespace) -> list[str]:
    """What a round costs beside the rows, and what a row costs."""
    rounds = min(options.rounds, 20)
    with cluster(2) as client:
        warm(client, 0.0)
        times = {}
        for n in (2_000, options.rows):
            X, y = persisted(client, n, 2)
            few, many = ours(1), ours(1 + rounds)
            few.fit(X, y)
            short, long = shortest(lambda X=X, y=y, m=few: m.fit(X, y), lambda X=X, y=y, m=many: m.fit(X, y))
            times[n] = long - short
    per_round = times[2_000] / rounds
    exchanges, n_bytes = ((many.traffic_[name] - few.traffic_[name]) / rounds for name in ("exchanges", "bytes"))
    per_cell = 2 * (times[options.rows] / rounds - per_round) / (options.rows * P)
    per_exchange = per_round / exchanges
    size = n_bytes / exchanges / 2  # from one of two workers
    rows, n_workers, fan_in, network = 1e9, 100, 8, 1e9
    n_merges = np.ceil(np.log(n_workers) / np.log(fan_in))
    predicted = rows / n_workers * P * per_cell + exchanges * n_merges * (per_exchange + fan_in * size / network)
    return [
        f"| a round without rows | {1e3 * per_round:.0f} ms | {exchanges:.1f} exchanges, "
        f"{1e3 * per_exchange:.1f} ms and {size / 1e6:.2f} MB from each worker | | |",
        f"| a row and column in a round, one thread | {1e9 * per_cell:.1f} ns | | | |",
        f"| predicted: a round with 10⁹ rows on 100 workers of one thread | {predicted:.1f} s | a network of 1 GB/s "
        "| | |",
    ]


def write_parts(folder: Path, n: int) -> None:
    """Parquet files of 250 000 rows, written by the workers."""

    def write(k: int, rows: int) -> None:
        X, y = block(k, rows)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])
        frame["y"] = y
        frame.to_parquet(folder / f"part-{k:05d}.parquet")

    dask.compute(*[dask.delayed(write)(k, min(250_000, n - 250_000 * k)) for k in range(-(-n // 250_000))])


def from_parquet(options: argparse.Namespace) -> list[str]:
    """A table whose floats do not fit into the memory of the workers together."""
    n, rounds = options.parquet_rows, options.parquet_rounds
    as_floats = n * (P + 1) * 8
    limit = max(int(0.45 * as_floats), 700_000_000)  # two workers together cannot hold the floats
    folder = Path(tempfile.mkdtemp())
    try:
        with cluster(2, memory_limit=limit) as client:
            write_parts(folder, n)
            warm(client, 0.0)
            frame = dd.read_parquet(folder)
            model = ours(rounds)
            taken = clock(lambda: model.fit(frame[[f"x{j}" for j in range(P)]], frame["y"]))
            peaks = client.run(lambda: __import__("resource").getrusage(__import__("resource").RUSAGE_SELF).ru_maxrss)
        peak = max(peaks.values()) * 1024
    finally:
        shutil.rmtree(folder)
    return [
        f"| {n} rows from Parquet files, {rounds} rounds, two workers of {limit / 1e9:.1f} GB | {taken:.0f} s | the "
        f"table as floats: {as_floats / 1e9:.1f} GB; largest worker: {peak / 1e9:.1f} GB | | |"
    ]


PARTS = {
    "lightgbm": beside_lightgbm,
    "workers": workers_and_parts,
    "constants": constants,
    "parquet": from_parquet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--parquet-rows", type=int, default=20_000_000)
    parser.add_argument("--parquet-rounds", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = ["| fit | time | compared with | ratio | target |", "|---|---|---|---|---|"]
    print("\n".join(lines))
    for name in options.only:
        for line in PARTS[name](options):
            print(line, flush=True)
            lines.append(line)
    note = f"{machine()}; {options.rows} rows, {P} columns, {options.rounds} rounds"
    print(note)
    if options.write and len(options.only) < len(PARTS):
        merge_rows(options.write, "dask_models", lines)
    elif options.write:
        write_page(options.write, "dask_models", "\n".join(lines) + f"\n\n{note}\n")


if __name__ == "__main__":
    main()
