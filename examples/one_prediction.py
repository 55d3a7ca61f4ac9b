"""
Explaining one prediction
=========================

Why did the model say so, and how far could the readings be off before it says something else? Four views of a single
prediction: the way through the tree, the Shapley values, the gradient, and a certificate.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from softwood import KernelTreeClassifier, explain
from softwood.explanations import shapley_values
from softwood.plots import plot_shapley, plot_shapley_summary, plot_tree

iris = load_iris(as_frame=True)
X, y = iris.data, iris.target_names[iris.target]
model = KernelTreeClassifier(max_leaf_nodes=4, bandwidth=0.2).fit(X, y)
flower = X.iloc[[77]]

# %%
# Bands show how the flower is divided. Its petal width is close to the threshold of the second test, so part of it
# goes to each side, and both leaves contribute to the prediction.

plot_tree(model, flower)
plt.show()

# %%
# ``explain`` prints everything that is known about the row. "May be off by" is a certificate: no reading within this
# distance changes the class.

print(explain(model, flower))

# %%
# Shapley values divide the difference between this prediction and the average one among the columns.

values = shapley_values(model, X)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plot_shapley(values, row=77, output="virginica", ax=ax)
plt.show()

# %%
# The same values for all flowers show which columns matter overall, and in which direction.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plot_shapley_summary(values, output="virginica", ax=ax)
plt.show()
