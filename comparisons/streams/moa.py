"""Forests and trees on streams beside those of MOA, the algorithms of CapyMOA, with as many trees.

    python comparisons/streams/moa.py [--rows 6000] [--seeds 1 2 3] [--seconds 60] [--streams covertype] [--summary]

Needs a Java development kit of version 17 or later, and `pip install capymoa` for its classes. Learners of MOA run in
a loop of their own in Java (Prequential.java), so that Python costs them nothing. All models get the same rows, with
the same columns as categories: each row is predicted, then learned. Every model of a stream and a seed has a line in
moa_runs.csv, and is not run again. At the end, and with --summary alone, the tables in docs/comparisons/streams.md are
written, from the streams and seeds that all models have.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd

os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.results import Results, write_sections  # noqa: E402
from comparisons.streams.moa_models import FOREST, MODELS, run_stream  # noqa: E402
from comparisons.streams.moa_streams import STREAMS  # noqa: E402

RUNS = ROOT / "comparisons" / "streams" / "moa_runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "streams.md"
RESULTS = Results(
    about={"stream": str, "task": str, "length": int, "model": str, "seed": int},
    figures={"rows": int, "error": float, "loss": float, "seconds": float},
)
SCRIPT = "comparisons/streams/moa.py"


def run_all(streams: list[str], seeds: list[int], length: int, seconds: float, path: Path) -> None:
    """Run what is missing."""
    done = RESULTS.done(path)
    for seed in seeds:
        for name in streams:
            rows = STREAMS[name](length, seed)
            task = "classes" if rows.is_class else "reals"
            for model in MODELS[task]:
                about = {"stream": name, "task": task, "length": length, "model": model, "seed": seed}
                if RESULTS.place(about) in done:
                    continue
                s = run_stream(model, rows, seed, seconds)[-1]
                line = about | {"rows": s.n, "error": s.errors / s.n, "loss": s.losses / s.n, "seconds": s.seconds}
                RESULTS.append(path, [line])
                print(
                    f"{name}, seed {seed}: {model}: {line['error']:.4f} {line['loss']:.4f}", file=sys.stderr, flush=True
                )


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    rows = STREAMS[line["stream"]](line["length"], line["seed"])
    for sums in run_stream(line["model"], rows, line["seed"], float("inf")):
        if sums.n == line["rows"]:
            return {"error": sums.errors / sums.n, "loss": sums.losses / sums.n}
    raise ValueError(f"The stream {line['stream']} has no row {line['rows']}.")


def tables(runs: list[dict[str, Any]]) -> str:
    """All tables as Markdown: means over the seeds; a stream and a seed count if all models have them."""
    frame = pd.DataFrame(runs)
    counts = frame.groupby(["task", "stream", "seed"])["model"].transform("nunique")
    frame = frame[counts == frame["task"].map(frame.groupby("task")["model"].nunique())]
    parts = [
        _task(frame[frame["task"] == task], task) for task in ("classes", "reals") if (frame["task"] == task).any()
    ]
    return "\n".join(parts)


def _task(frame: pd.DataFrame, task: str) -> str:
    frame = frame.assign(speed=frame["rows"] / frame["seconds"].clip(lower=1e-9))
    models = [name for name in MODELS[task] if name in set(frame["model"])]
    streams = [name for name in STREAMS if name in set(frame["stream"])]
    error, loss, speed = (
        frame.pivot_table(index="stream", columns="model", values=column).loc[streams, models]
        for column in ("error", "loss", "speed")
    )
    is_class = task == "classes"
    first, second = ("accuracy", "log loss") if is_class else ("absolute error", "squared error")
    lines = [
        f"### Beside MOA: {len(streams)} streams of {'classes' if is_class else 'real targets'}\n",
        f"| model | rank in {first} | rank in {second} | {FOREST} better in {first} | in {second} | "
        "rows per second (median) |",
        "|---|---|---|---|---|---|",
    ]
    for model in models:
        wins = ["", ""]
        if model != FOREST:
            wins = [f"{int((table[FOREST] < table[model]).sum())} of {len(streams)}" for table in (error, loss)]
        ranks = [f"{table.rank(axis=1)[model].mean():.2f}" for table in (error, loss)]
        lines.append("| " + " | ".join([model, *ranks, *wins, f"{speed[model].median():,.0f}"]) + " |")
    parts = ["\n".join(lines) + "\n"]
    for table, title, is_high in ((1 - error if is_class else error, first, is_class), (loss, second, False)):
        parts.append(_by_stream(table, title, is_high))
    return "\n".join(parts)


def _by_stream(table: pd.DataFrame, title: str, is_high: bool) -> str:
    lines = [
        f"#### {title[0].upper() + title[1:]}\n",
        "| stream | " + " | ".join(table.columns) + " |",
        "|---" * (1 + len(table.columns)) + "|",
    ]
    for stream, values in table.iterrows():
        best = values.max() if is_high else values.min()
        cells = [f"**{value:.4g}**" if value == best else f"{value:.4g}" for value in values]
        lines.append(f"| {stream} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000, help="rows of each stream")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="seeds of streams and models")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor seconds of a model on a stream")
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS, metavar="STREAM")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the tables")
    parser.add_argument("--summary", action="store_true", help="only write the tables")
    chosen = parser.parse_args()
    if not chosen.summary:
        run_all(chosen.streams, chosen.seeds, chosen.rows, chosen.seconds, chosen.runs)
    runs = [line for line in RESULTS.read(chosen.runs) if line["length"] == chosen.rows]
    write_sections(chosen.page, {"moa": tables(runs)}, SCRIPT)


if __name__ == "__main__":
    main()
