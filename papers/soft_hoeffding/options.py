"""What was tried beyond the Soft Hoeffding Tree paper: its tree with one option added at a time, on all streams.

    python papers/soft_hoeffding/options.py [--rows 50000] [--summary]

Single trees of depth 7, gamma 1 and learning rate 0.01, one seed of each stream, test then train. Every finished run is
a line of options.csv, and is not done again. At the end, and with --summary alone, the table in
docs/papers/soft_hoeffding.md is written anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from softwood.stream import SmoothStepTreeClassifier, SoftHoeffdingTreeClassifier, prequential
from softwood.stream.transparency import important_features

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.soft_hoeffding.streams import STREAMS, Rows, length, make_stream

HERE = Path(__file__).resolve().parent
RUNS = HERE / "options.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "soft_hoeffding.md"
SCRIPT = "papers/soft_hoeffding/options.py"
RESULTS = Results(
    about={"stream": str, "option": str, "n_samples": int},
    figures=dict.fromkeys(("cross_entropy", "auroc", "important_share", "n_inner", "seconds"), float),
)
N_EXPLAINED = 1000
ST, ST_BIAS = "ST", "ST with a bias"

ALONE: dict[str, dict[str, Any]] = {
    "as published": {},
    "bias in the gates": {"bias": True},
    "gates begin as their tests (with a bias)": {"bias": True, "gate_init": 0.5},
    "new leaves from class shares": {"leaf_init": 1.0},
    "statistics weighted by share": {"weigh_by_share": True, "min_share": 0.02},
    "early splits (tau 1, grace 100)": {"tau": 1.0, "grace_period": 100},
    "earlier splits (tau 1, grace 20)": {"tau": 1.0, "grace_period": 20},
    "restart after alarms": {"restart_rise": 0.15},
    "alpha 0.5": {"alpha": 0.5},
    "alpha learned": {"alpha_learning_rate": 0.003},
    "alpha learned, with pull": {"alpha_learning_rate": 0.003, "alpha_pull": 0.01},
    "tests checked again every 1000 rows": {"recheck_period": 1000},
    "scaler that forgets after 1000 rows": {"scaler_memory": 1000},
}
TOGETHER: dict[str, dict[str, Any]] = {
    "our defaults: all but the last two": {},
    "defaults without restart": {"restart_rise": None},
    "defaults without restart, grace 100": {"restart_rise": None, "grace_period": 100},
    "defaults without pull": {"alpha_pull": 0.0},
    "defaults, alpha fixed at 0.5": {"alpha_learning_rate": 0.0, "alpha_pull": 0.0},
    "defaults, tests checked again": {"recheck_period": 1000},
    "defaults, scaler that forgets": {"scaler_memory": 1000},
    "all together": {"recheck_period": 1000, "scaler_memory": 1000},
}
OPTIONS = (ST, ST_BIAS, *ALONE, *TOGETHER)


def make_model(option: str) -> Any:
    """A single tree."""
    if option in (ST, ST_BIAS):
        return SmoothStepTreeClassifier(bias=option == ST_BIAS, outlier_limit=None, random_state=0)
    if option in ALONE:
        return SoftHoeffdingTreeClassifier.as_published(**ALONE[option], random_state=0)
    return SoftHoeffdingTreeClassifier(**{"max_depth": 7} | TOGETHER[option], random_state=0)


def run_one(option: str, rows: Rows) -> dict[str, float]:
    """Scores of a tree over a stream, and what it looks like at the end."""
    model = make_model(option)
    began = time.monotonic()
    found = prequential(
        model, (rows.X, rows.y), classes=rows.classes, measures=("cross_entropy", "auroc"), window=len(rows.y)
    ).scores
    seconds = time.monotonic() - began
    n_inner = (model.growth_.n_nodes - 1) // 2
    share = important_features(model, rows.X[-N_EXPLAINED:]).share if n_inner else np.nan
    return {**found, "important_share": share, "n_inner": n_inner, "seconds": seconds}


def run(n_rows: int, path: Path) -> None:
    """Append the missing runs to the file, each as soon as it is done."""
    done = RESULTS.done(path)
    for stream in STREAMS:
        n_samples = length(stream, 1.0, n_rows)
        missing = [option for option in OPTIONS if (stream, option, n_samples) not in done]
        rows = make_stream(stream, n_samples, 0) if missing else None
        for option in missing:
            assert rows is not None
            found = run_one(option, rows)
            RESULTS.append(path, [{"stream": stream, "option": option, "n_samples": n_samples, **found}])
            print(f"{stream}, {option}: cross-entropy {found['cross_entropy']:.4f}", flush=True)


def table(rows: list[dict[str, Any]]) -> str:
    """Cross-entropy of each option divided by that of the soft tree, and what the trees look like."""
    n_samples = {name: max((r["n_samples"] for r in rows if r["stream"] == name), default=0) for name in STREAMS}
    found = {(r["stream"], r["option"]): r for r in rows if r["n_samples"] == n_samples[r["stream"]]}
    lines = [
        "| option | ratio to ST: median | geometric mean | better than published on | important | inner nodes |",
        "| --- |" + " ---: |" * 5,
    ]
    for option in OPTIONS:
        streams = [s for s in STREAMS if all((s, o) in found for o in (option, ST, "as published"))]
        if not streams:
            continue
        own = [found[s, option] for s in streams]
        quotient = np.array([r["cross_entropy"] / found[r["stream"], ST]["cross_entropy"] for r in own])
        wins = sum(r["cross_entropy"] < found[r["stream"], "as published"]["cross_entropy"] for r in own)
        shares = [r["important_share"] for r in own if not np.isnan(r["important_share"])]
        lines.append(
            f"| {option} | {np.median(quotient):.3f} | {np.exp(np.log(quotient).mean()):.3f} | "
            f"{'' if option == 'as published' else f'{wins} of {len(streams)}'} | "
            f"{np.mean(shares) if shares else np.nan:.3f} | {np.mean([r['n_inner'] for r in own]):.0f} |"
        )
    longest = f"{max(n_samples.values()):_}".replace("_", " ")
    return "\n".join([*lines, "", f"{len(n_samples)} streams, up to {longest} rows each."])


def repeat(line: dict[str, Any]) -> dict[str, float]:
    """The figures of a line, from the present code."""
    return run_one(line["option"], make_stream(line["stream"], line["n_samples"], 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000, help="most rows of a stream")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write the table")
    options = parser.parse_args()
    if not options.summary:
        run(options.rows, RUNS)
    write_sections(PAGE, {"options": table(RESULTS.read(RUNS))}, SCRIPT)


if __name__ == "__main__":
    main()
