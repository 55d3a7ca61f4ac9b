"""Boosting on a cluster of two processes, from Parquet files; the same model as in memory."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client

import softwood
import softwood.dask


def make_part(number: int, n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"age": rng.normal(45, 15, n).round(1), "income": rng.lognormal(10, 0.5, n).round(-2)})
    frame["city"] = rng.choice(["Lima", "Oslo", "Rome"], n)
    score = (frame["age"] - 45) / 15 + np.log(frame["income"]) - 10 + (frame["city"] == "Oslo")
    frame["stays"] = np.where(score + rng.normal(0, 0.5, n) > 0.3, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


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
        model.fit(table[["age", "income", "city"]], table["stays"])
        lazy = model.predict(table[["age", "income", "city"]])  # a Dask array
        traffic = model.traffic_
        in_memory, predicted = table.compute(), lazy.compute()
    print(f"accuracy {np.mean(predicted == in_memory['stays']):.3f}")
    print(f"{traffic['exchanges']} exchanges, {traffic['bytes'] / 1e6:.1f} MB")

    # Neither the parts nor the order of the rows matter: this is the model of the table in memory.
    shuffled = in_memory.sample(frac=1.0, random_state=0)
    local = softwood.KernelBoostingClassifier(**settings, growth="level")
    local.fit(shuffled[["age", "income", "city"]], shuffled["stays"])
    same = np.array_equal(local.forest_.value, model.to_local().forest_.value)
    print(f"the same bits as the local fit: {same}")


if __name__ == "__main__":
    main()
