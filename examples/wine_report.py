"""
An interactive report
=====================

Which cultivar is this wine, and how far can the laboratory be off? The example ends with a page of its own: one HTML
file with sliders, which needs no server and no network.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from softwood import KernelTreeClassifier, report
from softwood.explanations import certified_radius, shapley_values
from softwood.plots import plot_tree

data = load_wine(as_frame=True)
cultivar = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
X, X_test, y, y_test = train_test_split(data.data, cultivar, test_size=60, random_state=0, stratify=cultivar)
model = KernelTreeClassifier(max_leaf_nodes="small", random_state=0).fit(X, y)
print(f"{model.get_n_leaves()} leaves, accuracy {model.score(X_test, y_test):.2f} on the test wines")

# %%
# We look at the wine whose cultivar is the least certain, and at the columns with the largest part in its prediction.
# The last number is a certificate: as long as a reading is off by less, the cultivar stays the same.

wine = X_test.iloc[[model.predict_proba(X_test).max(axis=1).argmin()]]
name, probability = model.predict(wine)[0], model.predict_proba(wine).max()
print(f"the least certain wine: {name} with probability {probability:.0%}\n")
values = shapley_values(model, wine).values[0, :, model.classes_.tolist().index(name)]
limits = certified_radius(model, wine).reach[0]
print("column                          reading   part   can be off by")
for j in np.argsort(-np.abs(values))[:5]:
    column = X.columns[j]
    print(f"{column:30}  {wine[column].item():7.4g}  {values[j]:+.2f}  {limits[j]:.2g}")

# %%
# The wine is divided among several leaves.

plot_tree(model, wine)
plt.show()

# %%
# The report shows the same for every row that you set with its sliders. Flow, Shapley values and certificates are
# computed in the browser.

# sphinx_gallery_thumbnail_path = 'images/report.png'
page = report(model, "wine.html", X=X_test, y=y_test, rows=wine)
print(f"wine.html: {len(page.html) / 1000:.0f} kB; open it in a browser")
