"""``softwood bench``: how fast a saved model predicts."""

from __future__ import annotations

import argparse
import time
from typing import Any

from softwood.cli.arguments import add_data, add_general, add_model, add_number
from softwood.cli.errors import UsageError


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "bench",
        help="rows per second and latency of a saved model",
        description="Rows per second and latency of a saved model, for several numbers of rows in a call. The first "
        "call is not counted.",
    )
    add_model(parser)
    add_data(parser)
    parser.add_argument(
        "--rows",
        type=int,
        nargs="+",
        default=[1, 100, 10_000],
        metavar="N",
        help="rows in a call (default 1 100 10000)",
    )
    add_number(parser, "--seconds", 1.0, "time for each number of rows", "SECONDS")
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Print the speeds."""
    import numpy as np

    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_json, print_table, working
    from softwood.cli.scores import predictions
    from softwood.cli.tables import columns_for, read_table
    from softwood.fitted import FittedModel

    if min(chosen.rows) < 1 or not 0.0 < chosen.seconds < 3600:
        raise UsageError("--rows must be at least 1, and --seconds above 0 and below 3600.")
    model = load_model(chosen.model)
    X = columns_for(FittedModel.of(model, "bench"), read_table(chosen.data), chosen.data)
    in_python(chosen, f"model = softwood.load({str(chosen.model)!r})", "%timeit model.predict(rows)")
    found = []
    for n in chosen.rows:
        places = np.arange(n) % len(X)
        part = X[places]
        predictions(model, part)
        times: list[float] = []
        with working(f"{n} rows in a call"):
            begin = time.perf_counter()
            while not times or time.perf_counter() - begin < chosen.seconds:
                start = time.perf_counter()
                predictions(model, part)
                times.append(time.perf_counter() - start)
        p50, p99 = np.percentile(times, [50, 99])
        found.append({
            "rows": n, "calls": len(times), "rows_per_second": n * len(times) / sum(times), "p50_ms": 1e3 * p50,
            "p99_ms": 1e3 * p99,
        })  # fmt: skip
    if chosen.json:
        print_json(found)
        return 0
    columns = ("rows in a call", "calls", "rows per second", "median (ms)", "99 % (ms)")
    print_table(columns, [list(line.values()) for line in found], title=type(model).__name__)
    return 0
