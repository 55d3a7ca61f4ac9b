"""A soft Hoeffding tree on a stream with drift: scores, the log of its splits, and the tree before and after the drift.

Loans are granted by age alone. After 10 000 applications the rule changes and also depends on education.
Run:  python examples/drifting_stream.py [picture.png]
"""

import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from softwood.plots import plot_stream_tree
from softwood.stream import Agrawal, SoftHoeffdingTreeClassifier, prequential
from softwood.stream.transparency import decision_rules, important_features

DRIFT = 10_000
TIMES = ("before", "after")


def main() -> None:
    stream = Agrawal(functions=(0, 2), drift_every=DRIFT, seed=1)
    # A small tree that learns on after the drift, so that both can be compared; by default it would restart.
    model = SoftHoeffdingTreeClassifier(grace_period=100, restart_rise=None, random_state=0)
    tables, trees = [], []
    print("cross-entropy of each 1000 rows, predicted before they are learned")
    for time in TIMES:
        X, y = stream.take(DRIFT)
        tables.append(pd.DataFrame(X, columns=stream.feature_names))
        result = prequential(model, (tables[-1], np.where(y == 1, "granted", "refused")), window=1000)
        trees.append(deepcopy(model))
        print(f"  {time:7}", *(f"{loss:.3f}" for loss in result.curves["cross_entropy"]))

    print("\nalarms:", *(f"row {event.n_samples:,}" for event in model.drifts_))
    late = [split for split in model.log_ if split.n_samples > DRIFT]
    print(f"\n{len(late)} of {len(model.log_)} splits came after the drift; the first splits before and after it:")
    for split in model.log_[:3] + late[:3]:
        name = model.columns_.names[split.feature]
        print(f"  row {split.n_samples:6,}: node {split.node} tests {name} <= {split.threshold:.4g}")

    print("\nhow the tree before the drift decides the first application after the drift")
    print(*(f"  {rule}" for rule in decision_rules(trees[0], tables[1].iloc[:1]) if rule.share > 0.05), sep="\n")
    for time, tree, X in zip(TIMES, trees, tables, strict=True):
        found = important_features(tree, X)
        print(f"{time}: {found.mean:.2f} of {found.n_features} features are important in a decision")

    figure = Figure(figsize=(16, 5), layout="constrained")
    for ax, time, tree, X in zip(figure.subplots(1, 2), TIMES, trees, tables, strict=True):
        plot_stream_tree(tree, ax, X=X[-2000:]).set_title(f"{time} the drift")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir() + "/drifting_stream.png")
    figure.savefig(path)
    print(f"\nboth trees are drawn in {path}")


if __name__ == "__main__":
    main()
