"""
A one-stage tree
================

A crisp tree with oblique tests, built and pruned in one optimisation, beside a CART of the same depth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import OneStageForestClassifier, OneStageTreeClassifier
from softwood.plots import plot_leaf_distribution

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

# %%
# Each test weighs all 64 pixels, so that a few leaves are enough. Each row still follows a single path.

model = OneStageTreeClassifier(max_depth=6, random_state=0).fit(X, y)
cart = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
forest = OneStageForestClassifier(n_estimators=10, random_state=0).fit(X, y)
print(f"accuracy of the one-stage tree: {model.score(X_test, y_test):.3f} with {model.get_n_leaves()} leaves")
print(f"CART of the same depth: {cart.score(X_test, y_test):.3f} with {cart.get_n_leaves()} leaves")
print(f"ten bagged one-stage trees: {forest.score(X_test, y_test):.3f}")

# %%
# The weights of the first test are an image: pixels that are red send a digit to the left, blue ones to the right.

weights = model.tree_.weights[0].reshape(8, 8)
figure, ax = plt.subplots(figsize=(3.5, 3.5), layout="constrained")
limit = abs(weights).max()
ax.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
ax.set(title="weights of the root", xticks=[], yticks=[])
plt.show()

# %%
# Most leaves belong to one digit.

ax = plot_leaf_distribution(model, X_test, y_test)
ax.figure.set_size_inches(8, 4)
plt.show()

# %%
# A complete tree of depth 6 has 64 leaves. Cross-validation has chosen the initial gates, the penalty and the size.

for trial in sorted(model.search_, key=lambda trial: trial["loss"]):
    settings = f"{trial['init']}, penalty {trial['l2_regularization']:g}"
    print(f"{settings:25} loss {trial['loss']:.3f} with {trial['n_splits']:.0f} splits")
