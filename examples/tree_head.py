"""
A net with trees as its last layer
==================================

A small convolutional net whose last layer is a soft tree, against the same net with a linear layer. Both are trained
on scikit-learn's digits with Adam. Needs ``pip install "softwood[torch]"``.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from softwood.nn import TreeLayer

torch.manual_seed(0)
torch.set_num_threads(1)  # the net is too small for more
images, digits = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(images / 16.0, digits, random_state=0, stratify=digits)
X, X_test = (torch.tensor(part, dtype=torch.float32).reshape(-1, 1, 8, 8) for part in (X, X_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)

# %%
# The trees replace ``nn.Linear``. Their gates need standardised inputs, which ``BatchNorm1d`` provides.


def new_net(head):
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.BatchNorm1d(256),
        head,
    )


def train(net, epochs=8):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    accuracy = []
    for _ in range(epochs):
        net.train()
        for rows in torch.randperm(len(X)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(X[rows]), y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy.append(float((net.eval()(X_test).argmax(dim=1) == y_test).float().mean()))
    return accuracy


# %%
# Both nets are trained in the same way.

tree_net = new_net(TreeLayer(256, 10, n_trees=4, depth=5, reduce="sum"))
curves = {"linear head": train(new_net(nn.Linear(256, 10))), "tree head": train(tree_net)}
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, curve in curves.items():
    print(f"{name}: accuracy {curve[-1]:.3f} on the test images")
    ax.plot(range(1, 9), curve, marker="o", markersize=3, label=name)
ax.set(xlabel="epoch", ylabel="accuracy on the test images")
ax.legend()
plt.show()

# %%
# The layer is a ``SoftForest``. Its gates are exactly 0 or 1 beyond their width, so an image visits few nodes.

forest = tree_net[-1].to_tree()
with torch.no_grad():
    features = tree_net[:-1](X_test).double().numpy()
reached = forest.decision_path(features).sum(axis=1).mean() / len(forest)
print(f"an image reaches {reached:.1f} of the {forest[0].n_nodes} nodes of a tree, on average")
