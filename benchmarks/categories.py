"""Sets of categories compared with columns of zeros and ones: held-out loss and seconds of a fit.

Run:  SOFTWOOD_DATA=folder python benchmarks/categories.py [--only NAME ...] [--times 1]
                                                             [--write docs/comparisons/benchmarks.md]

With --encodings: default boosting of the data frame, and of the same columns as numbers in the order of their names, as
columns of zeros and ones, and as target statistics; and CatBoost of the data frame, if it is installed. At most 2000
rows of each table, and a table of three columns with 500, 1000 and 2000 categories.

Both models are the same, with bandwidth 0.1 for numbers and none for categories; one gets the data frame, the other one
gets a column of zeros and ones for each category. The loss is the log loss of three folds, or the error of a
regression in standard deviations of the target. LightGBM gets the frame, with the same number of rounds. Hours and
months of the bicycle data and the soil types of the forest data are numbers in the files, and categories here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from measuring import machine, seconds, write_page
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from softwood import (
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
)
from softwood.datasets import load_dataset

try:
    import catboost
except ImportError:
    catboost = None

# Largest number of rows, so that the table takes minutes.
N_ROWS = 6000
BANDWIDTH = 0.1
OF_HOURS = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit"]
NOT_KNOWN_BEFORE = ["instant", "dteday", "casual", "registered"]


def many_values() -> tuple[pd.DataFrame, np.ndarray]:
    """200 categories of different frequency that matter, 150 that do not, and four numbers."""
    rng = np.random.default_rng(1)
    n, k = N_ROWS, 200
    effect, code = rng.normal(size=k), rng.choice(k, n, p=rng.dirichlet(np.full(k, 0.5)))
    x = rng.normal(size=(n, 4))
    odds = 1.2 * effect[code] + x[:, 0] - 0.5 * x[:, 1] * x[:, 2]
    table = pd.DataFrame(x, columns=list("abcd"))
    table["city"] = pd.Categorical([f"k{c}" for c in code])
    table["noise"] = pd.Categorical([f"n{c}" for c in rng.integers(0, 150, n)])
    return table, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name == "many values":
        return many_values()
    found = load_dataset(name)
    X, y = found.X, np.asarray(found.y)
    if len(X) > N_ROWS:
        rows = np.random.default_rng(0).choice(len(X), N_ROWS, replace=False)
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    if name == "covertype":
        for word in ("soil", "wild"):
            own = [column for column in X if word in str(column).lower()]
            X = X.drop(columns=own).assign(**{word: pd.Categorical(X[own].to_numpy(float).argmax(axis=1).astype(str))})
    if name == "bike_sharing_hour":
        X = X.drop(columns=[column for column in NOT_KNOWN_BEFORE if column in X])
        X = X.assign(**{column: pd.Categorical(X[column].astype(str)) for column in OF_HOURS if column in X})
    return X, y


def one_hot(X: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The table with columns of zeros and ones, and the bandwidth of each column."""
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    numbers = X.drop(columns=text)
    codes = pd.get_dummies(X[text]).astype(float)
    table = pd.concat([numbers, codes], axis=1)
    table.columns = [f"c{k}" for k in range(table.shape[1])]
    return table, np.repeat([BANDWIDTH, 0.0], [numbers.shape[1], codes.shape[1]])


def models(is_real: bool) -> dict[str, Callable[[Any], Any]]:
    boosting, forest, tree = (
        (KernelBoostingRegressor, KernelForestRegressor, KernelTreeRegressor)
        if is_real
        else (KernelBoostingClassifier, KernelForestClassifier, KernelTreeClassifier)
    )
    return {
        "boosting": lambda h: boosting(max_iter=60, early_stopping=False, bandwidth=h, random_state=0),
        "forest": lambda h: forest(n_estimators=30, bandwidth=h, random_state=0),
        "tree": lambda h: tree(bandwidth=h, random_state=0),
    }


def loss_of(model: Any, X: pd.DataFrame, y: np.ndarray, is_real: bool) -> float:
    if is_real:
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())
    shares = np.clip(model.predict_proba(X), 1e-7, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    return float(-np.mean([np.log(shares[i, known[v]]) if v in known else np.log(1e-7) for i, v in enumerate(y)]))


def measure(make: Callable[[], Any], X: pd.DataFrame, y: np.ndarray, is_real: bool, times: int) -> tuple[float, float]:
    """Mean loss of three folds, and seconds of a fit, the first one not counted."""
    folds = KFold(3, shuffle=True, random_state=0) if is_real else StratifiedKFold(3, shuffle=True, random_state=0)
    losses, taken = [], []
    for train, test in folds.split(X, y):
        model = make()
        if not losses:
            model.fit(X.iloc[train], y[train])  # load modules and fill caches
        taken.append(seconds(lambda m=model, rows=train: m.fit(X.iloc[rows], y[rows]), times))
        losses.append(loss_of(model, X.iloc[test], y[test], is_real))
    return float(np.mean(losses)), float(np.median(taken))


def lines_of(name: str, times: int) -> list[str]:
    X, y = read(name)
    is_real = y.dtype.kind == "f"
    codes, widths = one_hot(X)
    peer = lightgbm.LGBMRegressor if is_real else lightgbm.LGBMClassifier
    frame = X.assign(**{c: X[c].astype("category") for c in X if not pd.api.types.is_numeric_dtype(X[c])})
    theirs = measure(lambda: peer(n_estimators=60, n_jobs=1, verbose=-1), frame, y, is_real, times)
    lines = []
    for model, make in models(is_real).items():
        sets = measure(lambda make=make: make(BANDWIDTH), X, y, is_real, times)
        ones = measure(lambda make=make: make(widths), codes, y, is_real, times)
        other = f"{theirs[0]:.4f} | {theirs[1]:.2f}" if model == "boosting" else " | "
        lines.append(
            f"| {name}, {len(X)} × {X.shape[1]} ({codes.shape[1]}) | {model} | {sets[0]:.4f} | {ones[0]:.4f} | "
            f"{sets[1]:.2f} | {ones[1]:.2f} | {other} |"
        )
        print(lines[-1], flush=True)
    return lines


def tic_tac_toe() -> tuple[pd.DataFrame, np.ndarray]:
    """All final boards, and whether the first player has won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    found: dict[str, int] = {}

    def play(board: str, player: str) -> None:
        winners = {board[a] for a, b, c in lines if board[a] == board[b] == board[c] != "_"}
        if winners or "_" not in board:
            found[board] = int("x" in winners)
            return
        for k in range(9):
            if board[k] == "_":
                play(board[:k] + player + board[k + 1 :], "o" if player == "x" else "x")

    play("_" * 9, "x")
    boards = sorted(found)
    return pd.DataFrame([list(board) for board in boards]).add_prefix("place "), np.array([found[b] for b in boards])


def thousands(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three columns with up to 500, 1000 and 2000 categories, and four numbers; 5000 rows for training, 5000 others."""
    rng = np.random.default_rng(seed)
    n, table, odds = 10_000, {}, np.zeros(10_000)
    for k, size in ((500, 0.9), (1000, 0.7), (2000, 0.5)):
        codes = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
        odds += size * rng.normal(size=k)[codes]
        table[f"of {k}"] = [f"k{code}" for code in codes]
    x = rng.normal(size=(n, 4))
    odds += x[:, 0] - 0.5 * x[:, 1] * x[:, 2]
    frame = pd.DataFrame(table | {name: x[:, k] for k, name in enumerate("abcd")})
    return frame, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def encodings_of(name: str) -> str:
    """A line of the table of encodings."""
    if name.startswith("thousands"):
        X, y = thousands(int(name.split()[1]))
        splits = [(np.arange(5000), np.arange(5000, 10_000))]
    else:
        X, y = tic_tac_toe() if name == "tic-tac-toe" else read(name)
        y = np.unique(y, return_inverse=True)[1]
        rows = np.random.default_rng(0).permutation(len(X))[:2000]
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
        splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    if name in ALL_CATEGORIES:
        X = X.astype(str)
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    others = X.drop(columns=text)
    as_codes = X.assign(**{c: X[c].astype("category").cat.codes.replace(-1, np.nan).astype(float) for c in text})
    losses: dict[str, list[float]] = {}
    for train, test in splits:
        encoder = TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=0)).set_output(transform="pandas")
        statistics = [encoder.fit_transform(X.iloc[train][text], y[train]), encoder.transform(X.iloc[test][text])]
        tables = {"frame": X, "numbers": as_codes}
        pairs = {way: (table.iloc[train], table.iloc[test]) for way, table in tables.items()}
        if max(X[c].nunique() for c in text) <= 255:
            ones = one_hot(X)[0]
            pairs["zeros and ones"] = ones.iloc[train], ones.iloc[test]
        pairs["statistics"] = tuple(
            others.iloc[rows].assign(**found) for rows, found in zip((train, test), statistics, strict=True)
        )
        for way, (fitted, held_out) in pairs.items():
            model = KernelBoostingClassifier(random_state=0).fit(fitted, y[train])
            losses.setdefault(way, []).append(loss_of(model, held_out, y[test], False))
        if catboost is not None:
            frame = X.assign(**{c: X[c].astype(object).fillna("missing").astype(str) for c in text})
            model = catboost.CatBoostClassifier(
                verbose=0, thread_count=1, random_seed=0, allow_writing_files=False, cat_features=text
            ).fit(frame.iloc[train], y[train])
            losses.setdefault("catboost", []).append(loss_of(model, frame.iloc[test], y[test], False))
    means = {way: float(np.mean(found)) for way, found in losses.items()}
    best = min(value for way, value in means.items() if way not in ("frame", "catboost"))
    cells = [f"{means[way]:.4f}" if way in means else "" for way in WAYS]
    return f"| {name}, {len(X)} × {X.shape[1]} | {' | '.join(cells)} | {means['frame'] / best:.3f} |"


WAYS = ["frame", "numbers", "zeros and ones", "statistics", "catboost"]
# Tables whose numbers are categories, too.
ALL_CATEGORIES = ["car_vgood", "flare_F", "chess", "mushroom", "nursery_uci", "tic-tac-toe"]
ENCODED = [
    "tic-tac-toe", "car_vgood", "flare_F", "chess", "nursery_uci", "mushroom", "german_credit", "credit_a",
    "churn_text", "thousands 50", "thousands 51", "thousands 52",
]  # fmt: skip
NAMES = [
    "churn_text", "credit_a", "german_credit", "nursery_uci", "covertype", "bike_sharing_hour", "many values",
]  # fmt: skip
HEADING = [
    "| data, rows × columns (of zeros and ones) | model | loss, sets | loss, zeros and ones | fit (s), sets | "
    "fit (s), zeros and ones | loss, LightGBM | its fit (s) |",
    "|---|---|---|---|---|---|---|---|",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*NAMES, *ENCODED], help="only these data")
    parser.add_argument("--encodings", action="store_true", help="the table of encodings")
    parser.add_argument("--times", type=int, default=1, help="repetitions of a fit in each fold")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    if options.encodings:
        lines = [
            f"| data, rows × columns | {' | '.join(WAYS)} | frame / best of the three |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in options.only or ENCODED:
            lines.append(encodings_of(name))
            print(lines[-1], flush=True)
        if options.write:
            write_page(options.write, "encodings", "\n".join(lines) + f"\n\n{machine()}\n")
        return
    lines = [line for name in options.only or NAMES for line in lines_of(name, options.times)]
    text = "\n".join([*HEADING, *lines]) + f"\n\n{machine()}\n"
    if options.write:
        write_page(options.write, "categories", text)


if __name__ == "__main__":
    main()
