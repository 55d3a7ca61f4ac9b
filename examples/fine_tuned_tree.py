"""
Fine-tuning a tree with an embedding in PyTorch
===============================================

The price of a flat depends on its size, its age and its district, one of 40. A net learns a number for each district
together with a tree that softwood has grown. Afterwards it is an ordinary softwood tree again, with text and
explanations. Needs ``pip install "softwood[torch]"``.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from softwood import KernelTreeRegressor, export_text
from softwood.nn import TreeModule

rng = np.random.default_rng(0)
n, n_districts = 3000, 40
size, age = rng.uniform(30, 150, n), rng.uniform(0, 80, n)
district = rng.integers(n_districts, size=n)
level = rng.normal(size=n_districts)[district]
price = size * (3 + level * (size > 60)) - np.where(age > 40, 40, 0) + rng.normal(scale=10, size=n)
train, test = np.arange(n) < 2000, np.arange(n) >= 2000
target = torch.tensor((price - price[train].mean()) / price[train].std(), dtype=torch.float32)[:, None]

# %%
# Each district starts with the mean price of its flats. A tree is grown on this number and the other two columns.

start = np.array([target[train & (district == d)].mean() for d in range(n_districts)])
table = np.column_stack([size, age, start[district]])
grown = KernelTreeRegressor(max_leaf_nodes=32, random_state=0).fit(table[train], target[train].ravel())

# %%
# The net is an embedding with one number per district, followed by the tree as a module.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.district = nn.Embedding.from_pretrained(torch.tensor(start, dtype=torch.float32)[:, None], freeze=False)
        self.tree = TreeModule.from_tree(grown)

    def forward(self, numbers, district):
        return self.tree(torch.cat([numbers, self.district(district)], dim=1))


# %%
# Thresholds, widths, leaf values and the numbers of the districts are trained together.

net = Net()
numbers, places = torch.tensor(table[:, :2], dtype=torch.float32), torch.tensor(district)
groups = [{"params": net.district.parameters(), "lr": 0.02}, {"params": net.tree.parameters(), "lr": 0.01}]
optimizer = torch.optim.Adam(groups)
explained = []
for epoch in range(61):
    error = float(((net(numbers, places) - target)[test] ** 2).mean().detach())
    explained.append(1 - error / float(target[test].var()))
    if epoch % 20 == 0:
        print(f"epoch {epoch}: R² {explained[-1]:.3f} on held-out flats")
    for rows in torch.tensor(np.flatnonzero(train)).split(100):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(numbers[rows], places[rows]), target[rows]).backward()
        optimizer.step()
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(explained)
ax.set(xlabel="epoch", ylabel="R² on held-out flats")
plt.show()

# %%
# The trained module becomes a ``SoftTree`` again, which can be read.

print(export_text(net.tree.to_tree(), feature_names=["size", "age", "district"], max_depth=2))
