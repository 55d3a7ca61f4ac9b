"""
A soft decision tree
====================

A few oblique gates, smooth probabilities, and what is lost when the tree is made crisp.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import SoftTreeClassifier, export_text
from softwood.plots import plot_gate_contributions, plot_loss

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)

# %%
# A gate weighs all 30 columns, so a handful of nodes replaces the tree of single tests.

model = SoftTreeClassifier(random_state=0).fit(X, y)
cart = DecisionTreeClassifier(random_state=0).fit(X, y)
print(f"soft tree, {model.tree_.n_nodes} nodes: accuracy {model.score(X_test, y_test):.3f}")
print(f"CART, {cart.tree_.node_count} nodes: accuracy {cart.score(X_test, y_test):.3f}")

# %%
# With an L1 penalty most weights are 0, which makes the gates readable.

sparse = SoftTreeClassifier(l1_regularization=0.01, random_state=0).fit(X, y)
print(f"with l1_regularization=0.01: accuracy {sparse.score(X_test, y_test):.3f}")
print(export_text(sparse))

# %%
# The contribution of a column says how far it moves the sum of a gate away from that of the average row. Bars to the
# left send a row to the left. Here are three rows at the root.

ax = plot_gate_contributions(sparse, X_test, node=0, rows=[0, 1, 2], n=8)
ax.figure.set_size_inches(9, 4.5)
plt.show()

# %%
# Each row follows a single path in the crisp tree. ``harden`` compares both trees on the rows that it is given.

crisp = sparse.harden(X_test, y_test)
print(f"accuracy of the crisp tree {crisp.hardening_.crisp:.3f}, of the soft tree {crisp.hardening_.soft:.3f}")

# %%
# The loss on the training and validation rows while the tree grew and was trained.

ax = plot_loss(model)
ax.figure.set_size_inches(7, 3.5)
plt.show()
