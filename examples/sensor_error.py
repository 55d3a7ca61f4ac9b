"""Readings of known precision: passing the measurement error of each reading to fit and predict.

A machine overheats above 75 degrees. Some of its thermometers are accurate to ±0.5 degrees, others to ±8, and we know
which.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss

from softwood import KernelTreeClassifier


def measure(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    true_temperature = rng.uniform(50, 100, n)
    error = rng.choice([0.5, 8.0], n)
    frame = pd.DataFrame({"temp": true_temperature + rng.uniform(-error, error), "load": rng.uniform(0, 1, n)})
    return frame, error, np.where(true_temperature > 75, "hot", "fine")


def main() -> None:
    rng = np.random.default_rng(0)
    X, error, y = measure(400, rng)
    X_test, error_test, y_test = measure(4000, rng)

    # bandwidth=0: the known errors are the only smoothing
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

    reading = pd.DataFrame({"temp": [77.0, 77.0], "load": [0.5, 0.5]})
    good, poor = aware.predict_proba(reading, measurement_error={"temp": [0.5, 8.0]})[:, 1]
    print(f"\n77 degrees by a good thermometer: {good:.0%} hot; by a poor one: {poor:.0%} hot")

    # Errors that are the same in a whole column, or depend on the reading, are given to the constructor.
    KernelTreeClassifier(measurement_error={"temp": 2.0}).fit(X, y)
    KernelTreeClassifier(measurement_error={"temp": lambda reading: 0.02 * reading}).fit(X, y)


if __name__ == "__main__":
    main()
