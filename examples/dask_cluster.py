"""
Boosting on a Dask cluster
==========================

Five Parquet files, a cluster of two processes, and a model that has the same bits as the one that is fitted in memory.
Needs ``pip install "softwood[dask]"``.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client

import softwood
import softwood.dask
from softwood.plots import plot_importances

COLUMNS = ["age", "income", "city"]

# %%
# Each part of the table is a file. Some incomes are missing, and the city is text; both are handled by the model.


def make_part(number: int, n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"age": rng.normal(45, 15, n).round(1), "income": rng.lognormal(10, 0.5, n).round(-2)})
    frame["city"] = rng.choice(["Lima", "Oslo", "Rome"], n)
    score = (frame["age"] - 45) / 15 + np.log(frame["income"]) - 10 + (frame["city"] == "Oslo")
    frame["stays"] = np.where(score + rng.normal(0, 0.5, n) > 0.3, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


# %%
# The estimator takes a Dask frame. ``predict`` returns a Dask array, which is computed when it is needed. The local
# fit at the end has neither the files nor their order: all rows are in memory, shuffled, and the model is still the
# same.


def main() -> None:
    settings = {"max_iter": 20, "bandwidth": 0.1, "random_state": 0}
    with (
        tempfile.TemporaryDirectory() as folder,
        Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client,
    ):
        for number in range(5):
            make_part(number).to_parquet(Path(folder) / f"part-{number}.parquet")
        table = dd.read_parquet(folder)
        model = softwood.dask.KernelBoostingClassifier(**settings, client=client)
        model.fit(table[COLUMNS], table["stays"])
        predicted = model.predict(table[COLUMNS]).compute()
        in_memory = table.compute()
    print(f"accuracy on the training rows: {np.mean(predicted == in_memory['stays']):.3f}")
    print(f"{model.traffic_['exchanges']} exchanges, {model.traffic_['bytes'] / 1e6:.1f} MB")

    shuffled = in_memory.sample(frac=1.0, random_state=0)
    local = softwood.KernelBoostingClassifier(**settings, growth="level").fit(shuffled[COLUMNS], shuffled["stays"])
    print("the same bits as the local fit:", np.array_equal(local.forest_.value, model.to_local().forest_.value))
    plot_importances({"cluster": model.to_local(), "in memory": local}).figure.set_size_inches(6, 2.5)
    plt.show()


if __name__ == "__main__":  # the processes of the cluster import this file
    main()
