"""Forests and trees on streams beside those of river: accuracy, log loss and rows per second in the same run.

    python comparisons/streams/run.py [--rows 10000] [--seconds 20] [--streams sine RBF] [--models ...] [--summary]

Real data come from the folder SOFTWOOD_DATA, or from OpenML. All models get the same rows, from memory: each row is
predicted, then learned. Every 1000 rows are a line of runs.csv, and a model that has all its lines for a stream, or has
used up its processor seconds there, is not run again: stop it and start it again as you like. At the end, and with
--summary alone, the tables in docs/comparisons/streams.md are written from those lines.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.results import Results, write_sections  # noqa: E402
from comparisons.streams.models import MODELS, models_of, run_stream, warm_up  # noqa: E402
from comparisons.streams.streams import STREAMS  # noqa: E402
from comparisons.streams.summary import tables  # noqa: E402

RUNS = ROOT / "comparisons" / "streams" / "runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "streams.md"
# `length` is that of the whole stream, by which drifts are placed; `rows` are those that the line tells of; `ended`
# says whether the model goes no further
RESULTS = Results(
    about={"stream": str, "task": str, "length": int, "model": str, "rows": int},
    figures={"error": float, "loss": float, "seconds": float, "ended": str},
)
SCRIPT = "comparisons/streams/run.py"


def run_all(streams: list[str], models: list[str], length: int, seconds: float, path: Path) -> None:
    """Run what is missing; the lines of a model on a stream are written at once."""
    done = {(line["stream"], line["model"], line["length"]) for line in RESULTS.read(path) if line["ended"] == "yes"}
    is_warm = False
    for name in streams:
        rows = STREAMS[name](length)
        for model in models:
            if model not in models_of(rows) or (name, model, length) in done:
                continue
            if not is_warm:
                warm_up()
                is_warm = True
            about = {"stream": name, "task": "classes" if rows.is_class else "reals", "length": length, "model": model}
            lines = [
                {
                    **about,
                    "rows": s.n,
                    "error": s.errors / s.n,
                    "loss": s.losses / s.n,
                    "seconds": s.seconds,
                    "ended": "",
                }
                for s in run_stream(model, rows, seconds)
            ]
            lines[-1]["ended"] = "yes"
            RESULTS.append(path, lines)
            last = lines[-1]
            print(
                f"{name}: {model}: {last['rows']} rows, error {last['error']:.4f}, loss {last['loss']:.4f}, "
                f"{last['rows'] / max(last['seconds'], 1e-9):,.0f} rows per second",
                file=sys.stderr, flush=True,
            )  # fmt: skip


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    for sums in run_stream(line["model"], STREAMS[line["stream"]](line["length"]), float("inf")):
        if sums.n == line["rows"]:
            return {"error": sums.errors / sums.n, "loss": sums.losses / sums.n}
    raise ValueError(f"The stream {line['stream']} has no row {line['rows']}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each stream")
    parser.add_argument("--seconds", type=float, default=20.0, help="processor seconds of a model on a stream")
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS, metavar="STREAM")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the tables")
    parser.add_argument("--summary", action="store_true", help="only write the tables")
    chosen = parser.parse_args()
    if not chosen.summary:
        run_all(chosen.streams, chosen.models, chosen.rows, chosen.seconds, chosen.runs)
    runs = RESULTS.read(chosen.runs)
    write_sections(chosen.page, {"tables": tables(runs, chosen.rows)}, SCRIPT, runs)


if __name__ == "__main__":
    main()
