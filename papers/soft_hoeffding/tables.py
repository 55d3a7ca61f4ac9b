"""Tables 3 and 4 of the Soft Hoeffding Tree paper (2024), on its streams but one.

    python papers/soft_hoeffding/tables.py [--scale 0.02] [--max-rows 50000] [--repeats 5] [--only sea_50 st ...]
        [--budget-minutes 60] [--summary]

Data come from the folder SOFTWOOD_DATA. Every finished run of a pool over a stream is a line of runs.csv, and a run
that has its line is not done again: stop it and start it again as you like. At the end, and with --summary alone,
tables.csv and the tables in docs/papers/soft_hoeffding.md are written anew from those lines.

The protocol: every row is first a test, then an example to learn from. Every model is a pool of up to 18 settings (the
paper's grids); half of the pool learns a row, the one with the lowest estimated loss predicts. A stream has the
published number of rows times the scale, at least 5 000; each repetition is another seed of stream and pool.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softwood.stream import prequential
from softwood.stream.transparency import important_features

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.soft_hoeffding.models import MODELS, SOFT, make_pool
from papers.soft_hoeffding.streams import STREAMS, Rows, length, make_stream, published
from papers.soft_hoeffding.summary import sections, write_summary

HERE = Path(__file__).resolve().parent
SCRIPT = "papers/soft_hoeffding/tables.py"
RUNS, SUMMARY = HERE / "runs.csv", HERE / "tables.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "soft_hoeffding.md"
MEASURES = ("cross_entropy", "auroc", "accuracy")
N_EXPLAINED = 1000  # last rows of a stream, whose decisions are looked at


class Task(NamedTuple):
    """One pool over one stream. The number of rows stands for the scale."""

    stream: str
    model: str
    repetition: int
    n_samples: int


NUMBERS = ("scale", *MEASURES, "seconds", "n_nodes", "mean_alpha", "important_share")
RESULTS = Results(
    about={"stream": str, "model": str, "repetition": int, "n_samples": int}, figures=dict.fromkeys(NUMBERS, float)
)


def tasks(scale: float, n_repeats: int, only: list[str], max_rows: int | None = None) -> Iterator[Task]:
    """Runs, repetition by repetition, so that a stop leaves what can be compared."""
    streams = [name for name in STREAMS if name in only] or list(STREAMS)
    models = [name for name in MODELS if name in only] or list(MODELS)
    for repetition in range(n_repeats):
        for stream in streams:
            n_samples = length(stream, scale, max_rows)
            yield from (Task(stream, model, repetition, n_samples) for model in models)


def run_one(task: Task, rows: Rows) -> dict[str, float]:
    """Scores of a pool over a stream, and what its best tree looks like at the end."""
    pool = make_pool(task.model, task.stream, task.repetition)
    began = time.monotonic()
    result = prequential(pool, (rows.X, rows.y), classes=rows.classes, measures=MEASURES, window=len(rows.y))
    seconds = time.monotonic() - began
    best = pool.best_model_
    looks = {"n_nodes": best.growth_.n_nodes, "mean_alpha": np.nan, "important_share": np.nan}
    if task.model in SOFT and best.growth_.n_nodes > 1:
        looks["mean_alpha"] = float(np.nanmean(best.growth_.alphas))
        looks["important_share"] = important_features(best, rows.X[-N_EXPLAINED:]).share
    return {**result.scores, "seconds": seconds, **looks}


def run(
    wanted: list[Task],
    path: Path,
    make: Callable[[str, int, int], Rows] = make_stream,
    budget_minutes: float | None = None,
) -> None:
    """Append the missing runs to the file, each as soon as it is done."""
    done = RESULTS.done(path)
    ends = None if budget_minutes is None else time.monotonic() + 60 * budget_minutes
    present: tuple[tuple[str, int, int], Rows] | None = None  # all models of a stream come one after the other
    for task in wanted:
        if task in done:
            continue
        if ends is not None and time.monotonic() > ends:
            print("The time is up.", flush=True)
            return
        place = (task.stream, task.n_samples, task.repetition)
        if present is None or present[0] != place:
            present = place, make(*place)
        found = run_one(task, present[1])
        scale = task.n_samples / int(published()[task.stream]["instances"])
        RESULTS.append(path, [{**task._asdict(), "scale": scale, **found}])
        done.add(task)
        print(
            f"{task.repetition} {task.stream} {task.model}: {task.n_samples} rows, cross-entropy "
            f"{found['cross_entropy']:.4f}, AUROC {found['auroc']:.4f}, {found['seconds']:.1f} s",
            flush=True,
        )


def repeat(line: dict[str, Any]) -> dict[str, float]:
    """The figures of a line, from the present code."""
    task = Task(*RESULTS.place(line))
    return run_one(task, make_stream(task.stream, task.n_samples, task.repetition))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.02, help="part of the published number of rows")
    parser.add_argument("--max-rows", type=int, default=None, help="most rows of a stream")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=(*STREAMS, *MODELS), default=[], help="streams, models or both")
    parser.add_argument("--budget-minutes", type=float, default=None, help="begin no run after so many minutes")
    parser.add_argument("--runs-file", type=Path, default=RUNS, help="another file of runs; it alone is then written")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write the tables")
    options = parser.parse_args()
    if not options.summary:
        wanted = list(tasks(options.scale, options.repeats, options.only, options.max_rows))
        run(wanted, options.runs_file, budget_minutes=options.budget_minutes)
    if options.runs_file == RUNS:
        runs = RESULTS.read(RUNS)
        write_summary(SUMMARY, runs)
        write_sections(PAGE, sections(runs), SCRIPT, runs)


if __name__ == "__main__":
    main()
