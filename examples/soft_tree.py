"""A soft decision tree: a few oblique gates, smooth probabilities, and the accuracy of the crisp tree."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import SoftTreeClassifier, export_text

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)

model = SoftTreeClassifier(random_state=0).fit(X, y)
cart = DecisionTreeClassifier(random_state=0).fit(X, y)
print(f"soft tree, {model.tree_.n_nodes} nodes: {model.score(X_test, y_test):.3f}")
print(f"CART, {cart.tree_.node_count} nodes: {cart.score(X_test, y_test):.3f}")

# With an L1 penalty most weights are 0, which makes the gates readable.
sparse = SoftTreeClassifier(l1_regularization=0.01, random_state=0).fit(X, y)
print(f"with l1_regularization=0.01: {sparse.score(X_test, y_test):.3f}")
print(export_text(sparse))

# Each row follows a single path in the crisp tree. This compares its accuracy with that of the soft tree.
crisp = sparse.harden(X_test, y_test)
print(f"crisp tree: {crisp.hardening_.crisp:.3f}, soft tree: {crisp.hardening_.soft:.3f}")
