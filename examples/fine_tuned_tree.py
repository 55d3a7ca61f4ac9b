"""A kernel tree that is fine-tuned end to end with an embedding of a category, and then read again as a tree.

The price of a flat depends on its size and age, and on its district, one of 40. A tree on numbers cannot use the name
of a district. Here a net learns a number for each district, and a tree, grown by softwood, learns with it. Afterwards
it is an ordinary softwood tree again, with text and explanations. Needs the extra: pip install "softwood[torch]".
"""

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

# The first number of each district is the mean price there: on it and the other columns a tree is grown.
start = np.array([target[train & (district == d)].mean() for d in range(n_districts)])
table = np.column_stack([size, age, start[district]])
grown = KernelTreeRegressor(max_leaf_nodes=32, random_state=0).fit(table[train], target[train].ravel())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.district = nn.Embedding.from_pretrained(torch.tensor(start, dtype=torch.float32)[:, None], freeze=False)
        self.tree = TreeModule.from_tree(grown)

    def forward(self, numbers, district):
        return self.tree(torch.cat([numbers, self.district(district)], dim=1))


net = Net()
numbers, places = torch.tensor(table[:, :2], dtype=torch.float32), torch.tensor(district)
groups = [{"params": net.district.parameters(), "lr": 0.02}, {"params": net.tree.parameters(), "lr": 0.01}]
optimizer = torch.optim.Adam(groups)
for epoch in range(61):
    error = float(((net(numbers, places) - target)[test] ** 2).mean().detach())
    if epoch % 20 == 0:
        print(f"epoch {epoch}: {1 - error / float(target[test].var()):.3f} of the variance explained on held-out flats")
    for rows in torch.tensor(np.flatnonzero(train)).split(100):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(numbers[rows], places[rows]), target[rows]).backward()
        optimizer.step()
tree = net.tree.to_tree()
print(export_text(tree, feature_names=["size", "age", "district"], max_depth=2))
