"""The report in Chromium: size of the file, time to open it, and time from a move of a slider to the picture.

Run:  python benchmarks/report.py [--times 20] [--write docs/comparisons/benchmarks.md]

Times are those of the page itself. "open" is from the start of the navigation until everything is shown. "slider" is
from the event of the slider until the prediction, the shares, the Shapley values, the gradient, the path and the flow
are computed and drawn, over many moves of the most important column; other programs disturb it, so the fastest move
stands beside the median. Certificates are computed between frames; "certificates" is the work that they take, in pieces
of a few milliseconds.

apt-get install chromium chromium-driver; pip install selenium
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
from measuring import blobs, machine, write_page
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from softwood import KernelBoostingClassifier, KernelForestClassifier, SoftTree, report

# A slider is moved by its event; the page would answer in the next frame, and is asked to do so at once.
MOVES = """
const [times, done] = arguments;
const slider = document.querySelector(".column input[type=range]");
const [low, high] = [Number(slider.min), Number(slider.max)];
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const moves = [], works = [];
for (let k = 0; k < times; k++) {
  slider.value = String(low + (high - low) * (0.2 + (0.6 * ((k * 7) % times)) / times));
  const start = performance.now();
  slider.dispatchEvent(new Event("input"));
  softwoodReport.update();
  moves.push(performance.now() - start);
  const begin = performance.now();
  softwoodReport.certificate(softwoodReport.page.now.cells);
  works.push(performance.now() - begin);
}
done([Math.min(...moves), median(moves), Math.min(...works)]);
"""
OPENED = "return performance.getEntriesByName('ready')[0].startTime"


def start_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def bushy_tree(n_leaves: int, n_features: int = 20, seed: int = 0) -> SoftTree:
    """A random tree of kernel gates, for sizes that take long to grow."""
    rng = np.random.default_rng(seed)
    left, right, parent, leaves = [-1], [-1], [-1], [0]
    while len(leaves) < n_leaves:
        place = int(rng.integers(len(leaves)))
        node, leaves[place] = leaves[place], leaves[-1]
        leaves.pop()
        left[node], right[node] = len(left), len(left) + 1
        leaves += [left[node], right[node]]
        left += [-1, -1]
        right += [-1, -1]
        parent += [node, node]
    inner = np.array(left) >= 0
    mass = np.where(inner, 0.0, rng.random(len(left)))
    for node in range(len(left) - 1, 0, -1):
        mass[parent[node]] += mass[node]
    return SoftTree.from_nodes(
        children_left=left, children_right=right, feature=np.where(inner, rng.integers(0, n_features, len(left)), -1),
        threshold=np.where(inner, rng.normal(size=len(left)), np.nan), width=np.where(inner, 0.5, 0.0), mass=mass,
        value=rng.dirichlet([0.3, 0.3, 0.3], len(left)), n_features=n_features, cutoff=1e-4,
    )  # fmt: skip


def models() -> dict[str, object]:
    X, y, _, _ = blobs(20_000, 20, 2)
    return {
        "tree of 5 000 nodes": bushy_tree(2_500),
        "tree of 20 000 nodes": bushy_tree(10_000),
        "forest of 100 trees of 31 leaves": KernelForestClassifier(
            100, bandwidth=0.1, max_leaf_nodes=31, n_jobs=1, random_state=0
        ).fit(X[:5000], y[:5000]),
        "boosting, 100 trees of 31 leaves": KernelBoostingClassifier(bandwidth=0.1, max_iter=100, n_jobs=1).fit(X, y),
    }


def measure(model: object, times: int) -> tuple[int, float, float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        report(model, path)
        opened = []
        driver = start_browser()
        try:
            for _ in range(3):
                driver.get(path.as_uri())
                opened.append(driver.execute_script(OPENED))
            driver.set_script_timeout(600)
            return path.stat().st_size, float(np.min(opened)), *driver.execute_async_script(MOVES, times)
        finally:
            driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=40, help="moves of the slider")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [
        "| report of a | file, MB | open, ms | slider, fastest move, ms | median move, ms | certificates, ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, model in models().items():
        size, opened, *rest = measure(model, options.times)
        lines.append(f"| {name} | {size / 1e6:.2f} | {opened:.0f} | " + " | ".join(f"{t:.1f}" for t in rest) + " |")
        print(lines[-1], flush=True)
    if options.write:
        write_page(options.write, "report", "\n".join(lines) + f"\n\n{machine()}, Chromium without a window\n")


if __name__ == "__main__":
    main()
