"""A soft decision tree: a few oblique gates, smooth probabilities, and what is lost by reading it crisply."""

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

# With a penalty on the weights most of them are 0, and the gates can be read.
sparse = SoftTreeClassifier(l1_regularization=0.01, random_state=0).fit(X, y)
print(f"with l1_regularization=0.01: {sparse.score(X_test, y_test):.3f}")
print(export_text(sparse))

# Every row on one path only: what does it cost?
crisp = sparse.harden(X_test, y_test)
print(f"read crisply: {crisp.hardening_.crisp:.3f} against {crisp.hardening_.soft:.3f}")
