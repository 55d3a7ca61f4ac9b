"""
Reading a tree before and after a drift
=======================================

A soft Hoeffding tree on a stream of loan applications. At first loans are granted by age alone. After 10 000
applications the rule changes and also depends on education.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from softwood.plots import plot_stream_tree
from softwood.stream import Agrawal, SoftHoeffdingTreeClassifier, decision_rules, important_features, prequential

DRIFT = 10_000
TIMES = ("before", "after")

# %%
# By default the tree would restart after the drift. With ``restart_rise=None`` it keeps its splits and continues to
# learn, so that the two states can be compared.

stream = Agrawal(functions=(0, 2), drift_every=DRIFT, seed=1)
model = SoftHoeffdingTreeClassifier(grace_period=100, restart_rise=None, random_state=0)
tables, trees = [], []
print("cross-entropy of each 1 000 rows, predicted before they are learned")
for time in TIMES:
    X, y = stream.take(DRIFT)
    tables.append(pd.DataFrame(X, columns=stream.feature_names))
    result = prequential(model, (tables[-1], np.where(y == 1, "granted", "refused")), window=1000)
    trees.append(deepcopy(model))
    print(f"  {time:7}", *(f"{loss:.3f}" for loss in result.curves["cross_entropy"]))

# %%
# The tree has its own drift detector, which raises an alarm soon after the change, and a log of its splits.

print("alarms:", *(f"row {event.n_samples:,}" for event in model.drifts_))
late = [split for split in model.log_ if split.n_samples > DRIFT]
print(f"{len(late)} of {len(model.log_)} splits came after the drift; the first splits before and after it:")
for split in model.log_[:3] + late[:3]:
    name = model.columns_.names[split.feature]
    print(f"  row {split.n_samples:6,}: node {split.node} tests {name} <= {split.threshold:.4g}")

# %%
# A gate mixes a readable test with an oblique border. After the drift the root has moved most of its weight to the
# oblique border: its test, on age, is no longer the rule.

figure, axes = plt.subplots(1, 2, figsize=(16, 5), layout="constrained")
for ax, time, tree, X in zip(axes, TIMES, trees, tables, strict=True):
    plot_stream_tree(tree, ax, X=X[-2000:]).set_title(f"{time} the drift")
plt.show()

# %%
# Decisions can be written as rules, and the number of features with more than average influence says how transparent
# they are.

print("how the tree before the drift decides the first application after the drift")
print(*(f"  {rule}" for rule in decision_rules(trees[0], tables[1].iloc[:1]) if rule.share > 0.05), sep="\n")
for time, tree, X in zip(TIMES, trees, tables, strict=True):
    found = important_features(tree, X)
    print(f"{time}: {found.mean:.2f} of {found.n_features} features are important in a decision")
