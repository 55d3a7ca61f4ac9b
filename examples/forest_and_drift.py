"""
Following a stream that drifts
==============================

Loans are granted by a rule that changes every 5 000 applications. Each application is predicted first and learned
afterwards, so every row is a test row. With ``restart_rise=None``, a Hoeffding tree keeps the splits of the old rule.
By default it restarts when its errors rise, as soft Hoeffding trees do, and a forest replaces the trees whose errors
have risen.
"""

import matplotlib.pyplot as plt

from softwood.stream import (
    Agrawal,
    HoeffdingTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
    compare_prequential,
)

DRIFTS = [5_000, 10_000, 15_000]
stream = Agrawal(functions=(0, 2, 5, 8), drift_every=5_000, seed=0)
forest = StreamForestClassifier(10, random_state=0)
models = {
    "Hoeffding tree, no restart": HoeffdingTreeClassifier(restart_rise=None),
    "Hoeffding tree": HoeffdingTreeClassifier(),
    "soft Hoeffding tree": SoftHoeffdingTreeClassifier(random_state=0),
    "forest of 10": forest,
}

# %%
# ``compare_prequential`` shows the same rows to all models. The table has two baselines that know only the labels: the
# previous one, and the most frequent one so far.

found = compare_prequential(models, stream, max_samples=20_000, window=500)
print(found)

# %%
# The curves show the accuracy over windows of 500 rows. Dashed lines are the changes of the rule. After the first one,
# the old Hoeffding tree would have been the better start; after the others, the new one is.

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
found.plot("accuracy", ax=ax)
for row in DRIFTS:
    ax.axvline(row, color="0.5", linestyle="--", linewidth=1)
plt.show()

# %%
# The forest keeps a log. After a warning, a spare tree starts to learn; when the drift is confirmed, it replaces the
# old tree. Here the replacements follow the changes of the rule.

replaced = [event for event in forest.drifts_ if event.kind == "drift"]
for drift in DRIFTS:
    soon = [event for event in replaced if drift <= event.n_samples < drift + 2_000]
    print(f"within 2 000 rows after row {drift:,}: {len(soon)} trees replaced")
