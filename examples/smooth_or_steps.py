"""
Smooth probabilities instead of steps
=====================================

The probability of a CART jumps at its thresholds, and is 0 or 1 in most leaves of a large tree. A kernel tree of the
same size changes gradually, and its probabilities are closer to frequencies.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, log_loss
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelTreeClassifier

rng = np.random.default_rng(0)


def make_rows(n):
    """Rows of two columns; the probability of class 1 rises along a curved border."""
    X = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-3 * (X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5)))
    return X, (rng.random(n) < p).astype(int), p


X, y, _ = make_rows(600)
X_test, y_test, p_test = make_rows(20_000)
models = {
    "CART": DecisionTreeClassifier(random_state=0),
    "CART, 20 leaves": DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
    "kernel tree, 20 leaves": KernelTreeClassifier(max_leaf_nodes=20, random_state=0),
}
for model in models.values():
    model.fit(X, y)

# %%
# Along a line through the data, the true probability is smooth. The prediction of a CART is not.

line = np.column_stack([np.linspace(-2.5, 2.5, 500), np.zeros(500)])
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(line[:, 0], 1 / (1 + np.exp(-3 * (line[:, 0] - 0.5))), color="0.6", linewidth=4, label="true probability")
for name, model in list(models.items())[1:]:
    ax.plot(line[:, 0], model.predict_proba(line)[:, 1], label=name)
ax.set(xlabel="first column (second column = 0)", ylabel="probability of class 1")
ax.legend()
plt.show()

# %%
# Of the rows that get a probability of 70 %, about 70 % should belong to the class. In a reliability diagram such a
# model is on the diagonal.

figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7", linestyle="--")
for name, model in list(models.items())[1:]:
    frequency, predicted = calibration_curve(y_test, model.predict_proba(X_test)[:, 1], n_bins=10)
    ax.plot(predicted, frequency, marker="o", markersize=4, label=name)
ax.set(xlabel="predicted probability", ylabel="frequency of class 1", aspect="equal")
ax.legend()
plt.show()

# %%
# The numbers: the last column is the mean distance to the true probability, which is known here.

print("                        accuracy   log loss   distance to the truth")
for name, model in models.items():
    p = model.predict_proba(X_test)
    accuracy, loss = accuracy_score(y_test, model.predict(X_test)), log_loss(y_test, p)
    print(f"{name:22}  {accuracy:8.3f}   {loss:8.3f}   {np.abs(p[:, 1] - p_test).mean():.3f}")
