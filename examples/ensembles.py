"""
Forests, boosting and prediction intervals
==========================================

Ensembles of kernel trees beside those of scikit-learn, an interval from three quantiles, and a monotonic constraint.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import cross_val_score

from softwood import KernelBoostingRegressor, KernelForestRegressor

frame = load_diabetes(as_frame=True)
X, y = frame.data, frame.target

# %%
# Ensembles of kernel trees choose their bandwidth, and boosting also its size and number of rounds. Nothing is tuned
# here.

models = {
    "forest (scikit-learn)": RandomForestRegressor(50, random_state=0),
    "kernel forest": KernelForestRegressor(50, random_state=0),
    "boosting (scikit-learn)": HistGradientBoostingRegressor(random_state=0),
    "kernel boosting": KernelBoostingRegressor(random_state=0),
}
print("R² on held-out rows of the diabetes data, mean of 5 folds")
for name, model in models.items():
    print(f"  {name:26} {cross_val_score(model, X, y, cv=5).mean():.3f}")

# %%
# Several quantiles in one model make an interval: 10 %, 50 % and 90 % of the patients should be below the three
# predictions, which never cross.

settings = {"loss": "quantile", "bandwidth": 0.3, "learning_rate": 0.05, "random_state": 0}
interval = KernelBoostingRegressor(quantile=(0.1, 0.5, 0.9), **settings).fit(X, y)
rows = X.mean().to_frame().T.loc[[0] * 100].assign(bp=np.linspace(-0.1, 0.12, 100))
low, middle, high = interval.predict(rows).T

# %%
# A monotonic constraint says that the prediction must not fall with blood pressure. It takes a single quantile.

constrained = KernelBoostingRegressor(quantile=0.5, monotonic_cst={"bp": 1}, **settings).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.scatter(X["bp"], y, s=8, color="0.7")
ax.fill_between(rows["bp"], low, high, alpha=0.3, label="10 % to 90 %")
ax.plot(rows["bp"], middle, label="median")
ax.plot(rows["bp"], constrained.predict(rows), linestyle="--", label="median, not falling")
ax.set(xlabel="blood pressure, standardised (other columns at their means)", ylabel="progression of the disease")
ax.legend()
plt.show()
