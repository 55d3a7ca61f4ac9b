"""
Sensors of known precision
==========================

A machine overheats above 75 degrees. Some of its thermometers are accurate to ±0.5 degrees, others to ±8, and we know
which. The measurement error of each reading can be passed to ``fit`` and to ``predict``. Needs pandas.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss

from softwood import KernelTreeClassifier

rng = np.random.default_rng(0)


def measure(n: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    true_temperature = rng.uniform(50, 100, n)
    error = rng.choice([0.5, 8.0], n)
    frame = pd.DataFrame({"temp": true_temperature + rng.uniform(-error, error), "load": rng.uniform(0, 1, n)})
    return frame, error, np.where(true_temperature > 75, "hot", "fine")


X, error, y = measure(400)
X_test, error_test, y_test = measure(4000)

# %%
# With ``bandwidth=0`` the known errors are the only smoothing. They help in training, where poor readings count less
# near the threshold, and in prediction.

unaware = KernelTreeClassifier(bandwidth=0, min_mass=5).fit(X, y)
aware = KernelTreeClassifier(bandwidth=0, min_mass=5).fit(X, y, measurement_error={"temp": error})
print("                        accuracy   log loss")
for name, p in {
    "without errors": unaware.predict_proba(X_test),
    "errors in fit": aware.predict_proba(X_test),
    "errors in both": aware.predict_proba(X_test, measurement_error={"temp": error_test}),
}.items():
    accuracy = accuracy_score(y_test, aware.classes_[p.argmax(axis=1)])
    print(f"{name:22}  {accuracy:8.3f}   {log_loss(y_test, p):8.3f}")

# %%
# The same reading means something else if it comes from a poor thermometer: the probability changes more slowly.

temperatures = np.linspace(60, 90, 300)
readings = pd.DataFrame({"temp": temperatures, "load": 0.5})
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, half_width in {"good thermometer, ±0.5": 0.5, "poor thermometer, ±8": 8.0}.items():
    errors = {"temp": np.full(len(readings), half_width)}
    ax.plot(temperatures, aware.predict_proba(readings, measurement_error=errors)[:, 1], label=name)
ax.set(xlabel="reading in degrees", ylabel="probability of hot")
ax.legend()
plt.show()

# %%
# Errors that are the same in a whole column, or that depend on the reading, are passed to the constructor.

KernelTreeClassifier(measurement_error={"temp": 2.0}).fit(X, y)
KernelTreeClassifier(measurement_error={"temp": lambda reading: 0.02 * reading}).fit(X, y)
