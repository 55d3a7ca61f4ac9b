"""A one-stage tree, built and pruned in one optimisation, and what folds say of the ways to train it."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import OneStageForestClassifier, OneStageTreeClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

model = OneStageTreeClassifier(max_depth=6, random_state=0).fit(X, y)
cart = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
forest = OneStageForestClassifier(n_estimators=10, random_state=0).fit(X, y)
print(f"one-stage tree: {model.score(X_test, y_test):.3f} with {model.get_n_leaves()} leaves")
print(f"CART of the same depth: {cart.score(X_test, y_test):.3f} with {cart.get_n_leaves()} leaves")
print(f"ten bagged one-stage trees: {forest.score(X_test, y_test):.3f}")

# A complete tree of depth 6 has 64 leaves. Folds have chosen how the tree is trained and its size.
for line in sorted(model.search_, key=lambda line: line["loss"]):
    penalty = f"penalty {line['l2_regularization']:g}"
    print(f"{line['init']}, {penalty}: loss {line['loss']:.3f} with {line['n_splits']:.0f} splits")
