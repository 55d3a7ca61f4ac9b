"""Speed of one-stage trees: whole fits with the choice by folds, predictions, and passes of the paper's algorithm 1.

Run:  python benchmarks/one_stage.py --peer-python PATH [--only NAME ...] [--write docs/comparisons/benchmarks.md]

Everything has one thread. Fits of spambase and letter read the folder SOFTWOOD_DATA, or OpenML. The peer of algorithm 1
(`as_published`) is a straightforward PyTorch version in the same run; PATH is a Python with torch (`pip install
torch`), so that softwood's own environment need not have it. Both have the same batches of 32. The PyTorch version
visits all nodes of the complete tree at once, as tensors, and finds the values of leaves anew for each batch, as
algorithm 1 says; a second figure is for values that are found once in a pass. Other data are synthetic and seeded.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import blobs, run_rows, seconds
from sklearn.datasets import load_breast_cancer

from softwood import OneStageTreeClassifier
from softwood.datasets import load_dataset

PEER = """
import sys, time
import torch
torch.set_num_threads(1); torch.manual_seed(0)
n, d, depth, n_batches, every = map(int, sys.argv[1:])
X = torch.randn(n, d); y = (X[:, :5].sum(1) > 0).long(); Y = torch.nn.functional.one_hot(y, 2).float()
n_inner = 2 ** depth - 1
W = (0.1 * torch.randn(n_inner, d)).requires_grad_(); b = torch.zeros(n_inner, requires_grad=True)
gamma = torch.ones(n_inner, requires_grad=True)
adam = torch.optim.Adam([W, b], lr=0.01)

def values():
    with torch.no_grad():
        left = (X @ W.T + b > 0).float()
        shares = [torch.ones(n, 1)]
        for level in range(depth):
            s = left[:, 2 ** level - 1: 2 ** (level + 1) - 1]
            shares.append(torch.stack([shares[-1] * s, shares[-1] * (1 - s)], 2).reshape(n, -1))
        member = torch.cat(shares, 1)
        return (member.T @ Y + 0.5) / (member.sum(0)[:, None] + 1)

def respond(x, v, g):
    z = x @ W.T + b
    u = torch.rand_like(z).clamp(1e-6, 1 - 1e-6)
    z = z + torch.log(u / (1 - u))
    soft = torch.sigmoid(z)
    s = (z > 0).float() + soft - soft.detach()
    f = v[n_inner:].expand(len(x), -1, -1)
    for level in range(depth - 1, -1, -1):
        part = slice(2 ** level - 1, 2 ** (level + 1) - 1)
        f = f.reshape(len(x), -1, 2, f.shape[-1])
        side, split = s[:, part, None], g[part][None, :, None]
        f = (1 - split) * v[part] + split * (side * f[:, :, 0] + (1 - side) * f[:, :, 1])
    return f[:, 0]

def step(k, v):
    bar = (gamma.detach() >= 0.5).float()
    rows = torch.randint(0, n, (32,))
    loss = ((respond(X[rows], v, bar) - Y[rows]) ** 2).sum(1).mean()
    adam.zero_grad(); loss.backward(); adam.step()
    bar = bar.requires_grad_()
    rows = torch.randint(0, n, (32,))
    loss = ((respond(X[rows], v, bar) - Y[rows]) ** 2).sum(1).mean()
    grad, = torch.autograd.grad(loss, bar)
    with torch.no_grad():
        gamma.sub_(0.01 * grad).clamp_(0, 1)

v = values()
for k in range(5):
    step(k, v)
start = time.perf_counter()
for k in range(n_batches):
    if k % every == 0:
        v = values()
    step(k, v)
print((time.perf_counter() - start) / n_batches)
"""


def per_pass(n: int, p: int, depth: int, **parameters: float) -> float:
    """Seconds of one pass over the training rows, values and validation loss included."""
    X, y, _, _ = blobs(n, p, 2)
    taken = []
    for passes in (2, 12):
        model = OneStageTreeClassifier(
            max_depth=depth,
            architecture="proximal",
            init="random",
            max_iter=passes,
            n_iter_no_change=passes,
            warm_up=0,
            random_state=0,
            **parameters,
        )
        model.fit(X, y)
        taken.append(seconds(lambda m=model, X=X, y=y: m.fit(X, y), 3))
    return (taken[1] - taken[0]) / 10


def row_peer(python: Path | None) -> list[str]:
    lines = []
    for n, p in ((4_600, 57), (20_000, 20)):
        ours = per_pass(n, p, 6)
        n_batches = -(-round(0.75 * n) // 32)
        text = f"| pass, depth 6, {n} × {p} | {ours * 1e3:.1f} ms, {ours / n_batches * 1e3:.3f} ms per batch |"
        if python is not None:
            # a few hundred batches are enough to know the time of one
            peers = []
            for every in (1, n_batches):
                command = [python, "-c", PEER, *map(str, (round(0.75 * n), p, 6, 200, every))]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                peers.append(float(done.stdout.split()[-1]))
            ratio = peers[0] * n_batches / ours
            met = "yes" if ratio >= 30 else "no"
            text += (
                f" {peers[0] * 1e3:.2f} ms per batch | {ratio:.0f} × (target 30 ×: {met}); with values once in a pass "
                f"{peers[1] * 1e3:.2f} ms, {peers[1] * n_batches / ours:.0f} × |"
            )
        else:
            text += " | |"
        lines.append(text)
    return lines


def row_fit(python: Path | None) -> list[str]:
    """Whole fits, the choice by folds included."""
    bunch, spam, letter = load_breast_cancer(), load_dataset("spambase"), load_dataset("letter")
    numbers = np.asarray(letter.X, dtype=float)[:16_000], np.asarray(letter.y)[:16_000]
    work = (
        ("breast cancer, 569 × 30", (bunch.data, bunch.target), 6, 1.5),
        ("spambase, 4 601 × 57", (np.asarray(spam.X, dtype=float), np.asarray(spam.y)), 6, 15.0),
        ("letter, 16 000 × 16, depth 10", numbers, 10, 120.0),
    )
    lines = []
    for name, data, depth, limit in work:
        model = OneStageTreeClassifier(max_depth=depth, random_state=0)
        warm = OneStageTreeClassifier(max_depth=depth, max_iter=1, random_state=0)
        warm.fit(data[0][:500], data[1][:500])  # load modules and fill caches
        taken = seconds(lambda m=model, data=data: m.fit(*data), 3 if limit < 100 else 1)
        met = "yes" if taken <= limit else "no"
        tried = f"{len(model.search_)} ways"
        lines.append(
            f"| fit {name}, {tried}, {model.tree_.n_leaves} leaves | {taken:.2f} s | | target {limit} s: {met} |"
        )
    return lines


def row_predict(python: Path | None) -> list[str]:
    """Predictions of the crisp tree."""
    X, y, _, _ = blobs(20_000, 20, 2)
    model = OneStageTreeClassifier(architecture="proximal", split_cost=0.0, max_iter=3, random_state=0).fit(X, y)
    tree = model.tree_
    rows = np.ascontiguousarray(np.tile(X, (50, 1)))
    tree.predict(rows[:1000])
    taken = min(seconds(lambda: tree.predict(rows), 1) for _ in range(5))
    rate = len(rows) / taken / 1e6
    met = "yes" if rate >= 5.0 else "no"
    name = f"predict, {tree.max_depth} levels, {tree.n_leaves} leaves, 20 columns"
    return [f"| {name} | {rate:.1f} million rows/s | | target 5: {met} |"]


def row_depth(python: Path | None) -> list[str]:
    """How a pass grows with the depth, of trees that are not pruned."""
    times = {depth: per_pass(4_600, 20, depth, architecture_learning_rate=0.0) for depth in (3, 6, 9, 12)}
    words = ", ".join(f"depth {depth}: {taken * 1e3:.1f} ms" for depth, taken in times.items())
    return [f"| pass, 4 600 × 20, without pruning | {words} | | nodes grow 8 × from line to line |"]


ROWS: dict[str, Callable[[Path | None], list[str]]] = {
    "peer": row_peer,
    "fit": row_fit,
    "predict": row_predict,
    "depth": row_depth,
}


if __name__ == "__main__":
    run_rows("one_stage", __doc__, "torch", "| work | ours | PyTorch | ratio |", ROWS)
