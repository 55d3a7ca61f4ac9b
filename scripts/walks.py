"""The files that common calls go through: python scripts/walks.py

For each call: the number of files of softwood that it runs through, and how many of these are sources of compiled
loops; the number of edges, from the file of a caller to that of what it calls; and the pairs of files that call each
other both ways. Loops run uncompiled. ``--files`` lists the files.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import softwood
from softwood.compiled import use_sources

ROOT = Path(softwood.__file__).parent


class Walk:
    """Edges from the file of a caller to that of what it calls, while the block of the ``with`` statement runs."""

    def __enter__(self) -> Walk:
        self.edges: set[tuple[str, str]] = set()
        self.files: set[str] = set()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: object, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_name in ("<module>", "<lambda>", "<genexpr>", "<listcomp>"):
            return
        here = self._own(frame)
        if here is None:
            return
        self.files.add(here)
        above = frame.f_back
        while above is not None and self._own(above) is None:  # through other packages
            above = above.f_back
        before = None if above is None else self._own(above)
        if before not in (None, here):
            self.edges.add((before, here))

    def _own(self, frame: object) -> str | None:
        name = frame.f_code.co_filename
        return name[len(str(ROOT)) + 1 :] if name.startswith(str(ROOT)) else None

    def line(self) -> str:
        n_loops = sum("loops/" in file for file in self.files)
        n_both = sum((b, a) in self.edges for a, b in self.edges) // 2
        return f"{len(self.files)} ({n_loops}) | {len(self.edges)} | {n_both}"


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    from softwood.stream import SoftHoeffdingTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::6, :5], y[::6]
    model = softwood.KernelTreeClassifier(random_state=0).fit(X, y)
    return {
        "KernelTreeClassifier().fit": lambda: softwood.KernelTreeClassifier(random_state=0).fit(X, y),
        "predict_proba": lambda: model.predict_proba(X),
        "KernelBoostingClassifier().fit": lambda: softwood.KernelBoostingClassifier(random_state=0).fit(X, y),
        'KernelBoostingClassifier(growth="level").fit': lambda: softwood.KernelBoostingClassifier(
            growth="level", max_iter=5, bandwidth=0.1, random_state=0
        ).fit(X, y),
        "SoftHoeffdingTreeClassifier().partial_fit": lambda: SoftHoeffdingTreeClassifier(random_state=0).partial_fit(
            X, y, classes=np.unique(y)
        ),
        "save": lambda: softwood.save(model, folder / "model.softwood"),
        "load": lambda: softwood.load(folder / "model.softwood"),
        "report": lambda: softwood.report(model, folder / "page.html", X=X, y=y),
        "OneStageTreeClassifier().fit": lambda: softwood.OneStageTreeClassifier(random_state=0).fit(X, y),
    }


def main() -> None:
    use_sources()
    print("| call | files (of loops) | edges | pairs both ways |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)).items():
            with Walk() as walk:
                call()
            print(f"| {name} | {walk.line()} |", flush=True)
            if "--files" in sys.argv:
                print("\n".join(sorted(walk.files)))


if __name__ == "__main__":
    main()
