"""
A messy data frame
==================

Text, categories, numbers and missing cells in one table, used without an encoder, a scaler or an imputer. Needs
pandas.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from softwood import KernelTreeClassifier, export_text
from softwood.plots import plot_importances

rng = np.random.default_rng(0)
n = 1000
X = pd.DataFrame(
    {
        "age": rng.normal(45, 15, n).clip(18, 90),
        "income": rng.lognormal(10, 0.5, n).round(-2),
        "city": rng.choice(["Lima", "Oslo", "Pune", "Rome"], n),
        "plan": pd.Categorical(rng.choice(["free", "basic", "full"], n, p=[0.5, 0.3, 0.2])),
        "visits": pd.array(rng.poisson(3, n), dtype="Int64"),
    }
)
score = (X["age"] - 45) / 15 + 1.5 * (X["plan"] == "full") - (X["city"] == "Oslo") + rng.normal(0, 1, n)
y = np.where(score > 0.3, "stays", "goes")
for column in X:  # a tenth of the cells of each column are missing
    X.loc[rng.random(n) < 0.1, column] = None
print(X.head())

# %%
# The frame goes into ``fit`` as it is. A column of categories is divided by a set, such as ``plan in {basic, free}``.

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = KernelTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}, bandwidth {model.bandwidth_:.2f} standard deviations\n")
print(export_text(model, max_depth=2, decimals=2))

# %%
# Importances are those of the columns of the frame, however many categories a column has.

plot_importances(model).figure.set_size_inches(6, 2.5)
plt.show()

# %%
# A row with a missing value is divided between the two branches of a test, in the proportion of the training rows. The
# less is known about a row, the closer its prediction is to the average.

row = X_test.dropna().head(1)
for lost in ([], ["plan"], ["plan", "age"]):
    p = model.predict_proba(row.assign(**dict.fromkeys(lost)))[0]
    known = f"without {' and '.join(lost)}" if lost else "all columns known"
    print(f"{known:22}", ", ".join(f"{name} {share:.2f}" for name, share in zip(model.classes_, p, strict=True)))
