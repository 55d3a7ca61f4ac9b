"""Tables 1 and 2 from single runs: means, tests, wins and losses, published figures beside ours."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softwood.stats import combined_5x2_f_test, rank_sum

HERE = Path(__file__).resolve().parent
REALS = (
    "abalone", "add10", "boston_housing", "california_housing", "cpu_act", "concrete", "puma8FH", "puma8FM", "puma8NH",
    "puma8NM",
)  # fmt: skip
CLASSES = (
    "breast_cancer_wisconsin", "german_credit_numeric", "magic_gamma", "musk2", "pima_diabetes", "polyadenylation",
    "ringnorm", "satellite47", "spambase", "twonorm",
)  # fmt: skip
TITLES = {
    "soft": "soft", "soft_unrefined": "soft without joint pass", "soft_as_published": "soft as published",
    "hard": "hard", "hard_full": "hard, not pruned", "ldt": "LDT",
}  # fmt: skip
LEVEL = 0.05

Runs = dict[str, dict[str, np.ndarray]]  # data set, column: (10, 2) score and nodes by replication and half


def read_published() -> dict[str, dict[str, float]]:
    """Figures of the paper: for each data set the columns score_soft, nodes_hard and so on."""
    with (HERE / "published.csv").open(newline="", encoding="utf-8") as lines:
        return {
            row.pop("data_set"): {name: float(value) for name, value in row.items() if value}
            for row in csv.DictReader(lines)
        }


def complete(rows: list[dict[str, Any]]) -> Runs:
    """The data sets and columns of which all ten runs are there."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["data_set"], row["column"]), []).append(row)
    out: Runs = {}
    for (name, column), ten in found.items():
        if len(ten) == 10:
            ten = sorted(ten, key=lambda row: (row["replication"], row["half"]))
            out.setdefault(name, {})[column] = np.array([[row["score"], row["nodes"]] for row in ten])
    return out


def verdict(ours: np.ndarray, other: np.ndarray, *, larger_is_better: bool, kind: str) -> str:
    """ "win", "loss" or "tie" of one column against another: in score by the F test, in size by ranks."""
    if kind == "score":
        test = combined_5x2_f_test(ours[:, 0].reshape(5, 2), other[:, 0].reshape(5, 2))
        difference = ours[:, 0].mean() - other[:, 0].mean()
    else:
        test = rank_sum(ours[:, 1], other[:, 1])
        difference = ours[:, 1].mean() - other[:, 1].mean()
        larger_is_better = False
    if test.p_value >= LEVEL or difference == 0:
        return "tie"
    return "win" if (difference > 0) == larger_is_better else "loss"


def write_summary(path: Path, rows: list[dict[str, Any]]) -> None:
    """Means, standard deviations over the ten runs, and published figures."""
    runs, published = complete(rows), read_published()
    fields = (
        "data_set", "column", "score", "score_sd", "nodes", "nodes_sd", "published_score", "published_nodes",
    )  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, fields, lineterminator="\n")
        writer.writeheader()
        for name in (*REALS, *CLASSES):
            for column, ten in sorted(runs.get(name, {}).items()):
                digits = 3 if name in CLASSES else 4
                known = column.split("_")[0]
                writer.writerow({
                    "data_set": name, "column": column, "score": f"{ten[:, 0].mean():.{digits}f}",
                    "score_sd": f"{ten[:, 0].std(ddof=1):.{digits}f}", "nodes": f"{ten[:, 1].mean():.1f}",
                    "nodes_sd": f"{ten[:, 1].std(ddof=1):.1f}",
                    "published_score": published[name].get(f"score_{known}", ""),
                    "published_nodes": published[name].get(f"nodes_{known}", ""),
                })  # fmt: skip


def table(names: tuple[str, ...], columns: tuple[str, ...], runs: Runs, kind: str, form: Callable[[float], str]) -> str:
    """Published and ours side by side; the best mean of ours is bold."""
    published = read_published()
    at = 0 if kind == "score" else 1
    smallest = kind == "nodes" or names is REALS
    known = ("soft", "hard", "ldt") if names is CLASSES else ("soft", "hard")
    head = [f"{TITLES[c]}: published" for c in known] + [f"{TITLES[c]}: ours" for c in columns]
    lines = ["| data set | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head)]
    for name in names:
        means = {c: runs[name][c][:, at].mean() for c in columns if c in runs.get(name, {})}
        best = (min if smallest else max)(means.values()) if means else None
        cells = [form(published[name][f"{kind}_{c}"]) for c in known]
        for c in columns:
            text = form(means[c]) if c in means else ""
            cells.append(f"**{text}**" if c in means and means[c] == best else text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def counts(names: tuple[str, ...], runs: Runs, a: str, b: str, kind: str) -> str:
    """One sentence: on how many data sets one column beats another significantly."""
    larger = names is CLASSES
    both = [name for name in names if {a, b} <= set(runs.get(name, {}))]
    verdicts = {name: verdict(runs[name][a], runs[name][b], larger_is_better=larger, kind=kind) for name in both}
    parts = []
    for word, plural in (("win", "wins"), ("tie", "ties"), ("loss", "losses")):
        which = [name for name, found in verdicts.items() if found == word]
        listed = f" ({', '.join(which)})" if which and word != "tie" and len(which) < len(both) else ""
        parts.append(f"{len(which)} {plural if len(which) != 1 else word}{listed}")
    what = "size" if kind == "nodes" else ("accuracy" if larger else "error")
    return f"- {TITLES[a].capitalize()} against {TITLES[b]}, {what}: {', '.join(parts)}."


def against_published(names: tuple[str, ...], runs: Runs, column: str) -> str:
    published = read_published()
    have = [name for name in names if column in runs.get(name, {})]
    sign = 1 if names is CLASSES else -1
    worse = [
        name for name in have
        if sign * (round(runs[name][column][:, 0].mean(), 2 if sign > 0 else 3) - published[name]["score_soft"]) < 0
    ]  # fmt: skip
    listed = f"; not on {', '.join(worse)}" if worse else ""
    what = "accuracy at least" if sign > 0 else "error at most"
    good = len(have) - len(worse)
    return f"- {TITLES[column].capitalize()}: {what} the published one on {good} of {len(have)}{listed}."


def smaller_than_hard(runs: Runs, column: str) -> str:
    names = [name for name in (*REALS, *CLASSES) if {column, "hard"} <= set(runs.get(name, {}))]
    larger = [n for n in names if runs[n][column][:, 1].mean() >= runs[n]["hard"][:, 1].mean()]
    listed = f"; not on {', '.join(larger)}" if larger else ""
    good = len(names) - len(larger)
    return f"- {TITLES[column].capitalize()}: fewer nodes than our hard tree on {good} of {len(names)}{listed}."


def sections(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The text of each part of the page that is made from runs."""
    runs = complete(rows)
    softs = ("soft", "soft_unrefined", "soft_as_published")

    def error(value: float) -> str:
        return f"{value:.3f}"

    def accuracy(value: float) -> str:
        return f"{value:.2f}"

    def size(value: float) -> str:
        return f"{value:.0f}"

    parts = {}
    for title, names, columns, form in (
        ("table 1", REALS, (*softs, "hard", "hard_full"), error),
        ("table 2", CLASSES, (*softs, "hard", "hard_full", "ldt"), accuracy),
    ):  # fmt: skip
        lines = [
            "Mean squared error" if names is REALS else "Accuracy in percent", "",
            table(names, columns, runs, "score", form), "", "Number of nodes", "",
            table(names, columns, runs, "nodes", size), "",
        ]  # fmt: skip
        lines += [against_published(names, runs, column) for column in softs]
        for column in softs:
            for other in columns[len(softs) :]:
                lines += [counts(names, runs, column, other, kind) for kind in ("score", "nodes")]
        parts[title] = "\n".join(lines)
    parts["sizes"] = "\n".join(smaller_than_hard(runs, column) for column in softs)
    return parts
