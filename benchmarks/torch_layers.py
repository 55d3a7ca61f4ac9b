"""Speed of the layers for PyTorch against dense tensor versions, forward and backward, measured in the same run.

Run:  python benchmarks/torch_layers.py [--only NAME ...] [--write docs/comparisons/benchmarks.md]

The peers are written here, from the papers, in tensor operations: the same layer with all paths of all trees as tensors
[batch, trees, leaves], oblivious trees (ODST) of NODE (Popov et al. 2020), and the gates of soft Hoeffding trees.
Batches have 256 rows of 20 standardised inputs; there are 16 trees and one thread, and layers have their default start
unless a row says otherwise. "Reached" is the mean part of the gates that a row reaches. The rows "stream" compare the
layer that grows with the estimator, row by row with the settings of the paper.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from measuring import compare, machine, write_page
from torch import Tensor, nn

from softwood.nn import GrowingTreeLayer, TreeLayer, TreeModule
from softwood.nn.operators import reached_part
from softwood.stream import SEA, Agrawal, RandomRBF, SoftHoeffdingTreeClassifier
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

N_ROWS, N_FEATURES, N_TREES = 256, 20, 16


def smooth_step(z: Tensor, gamma: float) -> Tensor:
    r = z / gamma
    inside = 0.5 + 1.5 * r - 2.0 * r**3
    return torch.where(r <= -0.5, torch.zeros_like(r), torch.where(r >= 0.5, torch.ones_like(r), inside))


def complete_paths(parts: Tensor, depth: int) -> Tensor:
    """Shares of the leaves, [batch, trees, leaves], level by level."""
    shares = parts.new_ones((*parts.shape[:2], 1))
    for level in range(depth):
        here = parts[:, :, 2**level - 1 : 2 ** (level + 1) - 1]
        shares = torch.stack([shares * here, shares * (1.0 - here)], dim=-1).flatten(2)
    return shares


class DenseLayer(nn.Module):
    """The layer of smooth steps in tensor operations, with the parameters of ours."""

    def __init__(self, layer: TreeLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        layer = self.layer
        z = torch.einsum("bi,tgi->btg", x, layer.weight) + layer.bias
        shares = complete_paths(smooth_step(z, layer.gamma), layer.depth)
        return torch.einsum("btl,tlo->bo", shares, layer.value) / layer.n_trees


def entmax15(z: Tensor) -> Tensor:
    """The map with exponent 1.5 between softmax and sparsemax, by sorting (Peters et al. 2019), last axis."""
    z = (z - z.max(dim=-1, keepdim=True).values) / 2.0
    ordered = z.sort(dim=-1, descending=True).values
    count = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    mean, square = ordered.cumsum(dim=-1) / count, (ordered**2).cumsum(dim=-1) / count
    delta = (1.0 - count * (square - mean**2)) / count
    tau = mean - torch.sqrt(delta.clamp(min=0.0))
    size = (tau <= ordered).sum(dim=-1, keepdim=True)
    return (z - tau.gather(-1, size - 1)).clamp(min=0.0) ** 2


def entmoid15(z: Tensor) -> Tensor:
    """The same for two classes, with values z and 0."""
    size = z.abs().clamp(max=2.0)
    less = ((torch.sqrt(8.0 - size**2) - size) / 4.0) ** 2
    return torch.where(z >= 0, 1.0 - less, less)


class ObliviousTrees(nn.Module):
    """NODE's layer: all gates of a level are one gate, on a column that is chosen softly."""

    def __init__(self, n_features: int, n_outputs: int, n_trees: int, depth: int) -> None:
        super().__init__()
        self.choice = nn.Parameter(torch.rand(n_features, n_trees, depth))
        self.threshold = nn.Parameter(torch.randn(n_trees, depth))
        self.log_scale = nn.Parameter(torch.zeros(n_trees, depth))
        self.response = nn.Parameter(torch.randn(n_trees, n_outputs, 2**depth))
        bits = torch.arange(2**depth)[None, :] >> torch.arange(depth)[:, None] & 1
        self.register_buffer("codes", torch.stack([bits, 1 - bits], dim=1).float())

    def forward(self, x: Tensor) -> Tensor:
        chosen = entmax15(self.choice.movedim(0, -1)).movedim(-1, 0)
        values = torch.einsum("bi,itd->btd", x, chosen)
        part = entmoid15((values - self.threshold) * torch.exp(-self.log_scale))
        sides = torch.stack([part, 1.0 - part], dim=-1)
        shares = torch.einsum("btds,dsl->btdl", sides, self.codes).prod(dim=2)
        return torch.einsum("btl,tol->bo", shares, self.response) / len(self.response)


class DenseHoeffding(nn.Module):
    """The gates of a complete soft Hoeffding tree in tensor operations, with the parameters of our module."""

    def __init__(self, module: TreeModule, depth: int) -> None:
        super().__init__()
        self.module, self.depth = module, depth
        tree = module.source
        inner = tree.children_left >= 0
        self.feature = torch.tensor(tree.feature[inner], dtype=torch.int64)
        self.threshold = torch.tensor(tree.threshold[inner], dtype=torch.float32)
        self.alpha, self.gamma = float(tree.blend[0]), float(tree.width[0])

    def forward(self, x: Tensor) -> Tensor:
        step = smooth_step(x @ self.module.weight.t() + self.module.bias, self.gamma)
        test = (x[:, self.feature] <= self.threshold).to(x.dtype)
        parts = self.alpha * step + (1.0 - self.alpha) * test
        return complete_paths(parts[:, None], self.depth)[:, 0] @ self.module.value


def hoeffding_module(depth: int, n_outputs: int = 2) -> TreeModule:
    rng = np.random.default_rng(0)
    node = np.arange(2 ** (depth + 1) - 1)
    inner = node < 2**depth - 1
    tree = SoftTree.from_nodes(
        children_left=np.where(inner, 2 * node + 1, -1), children_right=np.where(inner, 2 * node + 2, -1),
        value=rng.normal(size=(len(node), n_outputs)), n_features=N_FEATURES,
        gate=np.where(inner, Gate.BLEND, Gate.LEAF),
        feature=np.where(inner, rng.integers(N_FEATURES, size=len(node)), -1),
        threshold=np.where(inner, rng.normal(size=len(node)), np.nan), width=np.where(inner, 1.0, 0.0),
        blend=np.where(inner, 0.3, 0.0), weights=rng.uniform(-1, 1, (len(node), N_FEATURES)) / math.sqrt(N_FEATURES),
    )  # fmt: skip
    return TreeModule.from_tree(tree)


def both_ways(module: nn.Module, x: Tensor) -> Callable[[], None]:
    """Forward and backward, with derivatives by rows and parameters."""

    def work() -> None:
        points = x.clone().requires_grad_()
        module.zero_grad()
        module(points).square().sum().backward()

    return work


def rows(n: int = N_ROWS, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn((n, N_FEATURES), dtype=dtype, generator=torch.Generator().manual_seed(1))


def reached(layer: TreeLayer, x: Tensor) -> float:
    weights, numbers, _ = layer._arguments()
    return reached_part(x, weights, numbers, layer.trees.arguments())


def compared(work: str, ours: nn.Module, peer: nn.Module, x: Tensor, note: str, times: int = 9) -> list[str]:
    peer(x)
    one, two = compare(both_ways(ours, x), both_ways(peer, x), times)
    return [f"| {work} | {1e3 * one:.1f} ms | {1e3 * two:.1f} ms | **{two / one:.1f} ×** | {note} |"]


def row_figure() -> list[str]:
    """Depth 8: at least 5 times as fast as the dense version is wanted."""
    lines = []
    for dtype in (torch.float32, torch.float64):
        for gamma in (1.0, 0.1):
            for n_outputs in (1, 10):
                torch.manual_seed(0)
                layer = TreeLayer(N_FEATURES, n_outputs, N_TREES, depth=8, gamma=gamma, dtype=dtype)
                x = rows(dtype=dtype)
                torch.testing.assert_close(layer(x), DenseLayer(layer)(x), rtol=1e-3, atol=1e-5)
                words = (
                    f"dense version, depth 8, gamma {gamma:g}, {n_outputs} outputs, {str(dtype).removeprefix('torch.')}"
                )
                lines += compared(words, layer, DenseLayer(layer), x, f"reached {reached(layer, x):.1%}; target 5 ×")
    return lines


def row_curve() -> list[str]:
    """Cost against depth."""
    lines = []
    for gamma in (1.0, 0.1, 0.01):
        before = math.nan
        for depth in (4, 6, 8, 10, 12):
            torch.manual_seed(0)
            layer = TreeLayer(N_FEATURES, 1, N_TREES, depth=depth, gamma=gamma)
            x = rows()
            one, two = compare(both_ways(layer, x), both_ways(DenseLayer(layer), x), 3 if depth > 9 else 7)
            growth = "" if math.isnan(before) else f"; {one / before:.1f} × the time of depth {depth - 2}"
            before = one
            lines.append(
                f"| dense version, depth {depth}, gamma {gamma:g} | {1e3 * one:.1f} ms | {1e3 * two:.1f} ms | "
                f"**{two / one:.1f} ×** | reached {reached(layer, x):.1%}{growth} |"
            )
    return lines


def row_node() -> list[str]:
    """Beside NODE's oblivious trees of the same number of leaves."""
    lines = []
    for depth in (6, 8):
        torch.manual_seed(0)
        layer, peer = TreeLayer(N_FEATURES, 1, N_TREES, depth=depth), ObliviousTrees(N_FEATURES, 1, N_TREES, depth)
        one, two = (sum(parameter.numel() for parameter in each.parameters()) for each in (layer, peer))
        note = f"{one} parameters, the peer {two}"
        lines += compared(f"NODE's ODST, depth {depth}", layer, peer, rows(), note)
    return lines


def row_hoeffding() -> list[str]:
    """Beside a tensor version of the gates of soft Hoeffding trees; one tree of depth 7."""
    lines = []
    for n in (1, 32, 256):
        module = hoeffding_module(7)
        peer, x = DenseHoeffding(module, 7), rows(n)
        torch.testing.assert_close(module(x), peer(x), rtol=1e-3, atol=1e-5)
        lines += compared(f"gates of soft Hoeffding trees, depth 7, {n} rows", module, peer, x, "1 tree", 21)
    return lines


def row_stream() -> list[str]:
    """The layer that grows, row by row, against the estimator with the settings of the paper."""
    lines = []
    n = 20_000
    for stream in (SEA(seed=1), Agrawal(seed=1), RandomRBF(seed=1)):
        X, y = stream.take(n)
        model = SoftHoeffdingTreeClassifier.as_published(random_state=0)
        shares = model.test_then_train(X, y, classes=[0, 1])
        accuracy = float(np.mean(shares.argmax(axis=1) == y))
        loss = float(-np.log(shares[np.arange(n), y]).mean())
        torch.manual_seed(0)
        layer = GrowingTreeLayer(X.shape[1], 2, dtype=torch.float64)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
        x, target = torch.tensor(X), torch.tensor(y)
        right, total, start = 0, 0.0, time.perf_counter()
        for i in range(n):
            outputs = layer(x[i : i + 1], target[i : i + 1])
            cost = nn.functional.cross_entropy(outputs, target[i : i + 1])
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            layer.grow(optimizer)
            right += int(outputs.argmax()) == int(y[i])
            total += float(cost.detach())
        taken = (time.perf_counter() - start) / n
        met = abs(right / n - accuracy) <= 0.01 and abs(total / n / loss - 1) <= 0.05
        lines.append(
            f"| stream {type(stream).__name__}, {n} rows | accuracy {right / n:.4f}, cross-entropy {total / n:.4f}, "
            f"{len(layer.log)} splits | {accuracy:.4f}, {loss:.4f}, {len(model.log_)} | within 1 point and 5 %: "
            f"{'yes' if met else 'no'} | {1e3 * taken:.1f} ms per row |"
        )
    return lines


ROWS: dict[str, Callable[[], list[str]]] = {
    "figure": row_figure, "curve": row_curve, "node": row_node, "hoeffding": row_hoeffding, "stream": row_stream,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["| peer, work | ours | peer | ratio | more |", "|---|---|---|---|---|"]
    for row in options.only or ROWS:
        found = ROWS[row]()
        lines += found
        print("\n".join(found), flush=True)
    if options.write:
        note = f"{machine()}, torch {torch.__version__}, {torch.get_num_threads()} thread"
        write_page(options.write, "torch_layers", "\n".join(lines) + f"\n\n{note}\n")


if __name__ == "__main__":
    main()
