"""Tables 3 and 4 of the Soft Hoeffding Tree paper from single runs, published figures beside ours."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from papers.soft_hoeffding.models import LIMIT, MODELS
from papers.soft_hoeffding.models import TITLES as MODEL_TITLES
from papers.soft_hoeffding.streams import STREAMS, TITLES, published
from softwood.stats import holm

LEVEL = 0.05
DIGITS = {"cross_entropy": 3, "auroc": 3, "accuracy": 3}
SHORT = {"cross_entropy": "ce", "auroc": "auroc"}
NAMES = {"cross_entropy": "Cross-entropy", "auroc": "AUROC"}
# What was expected before anything was run.
PUBLISHED_WINS, OUR_WINS, NEAR_ST = 12, 17, 1.05

Rows = list[dict[str, Any]]


class Comparison(NamedTuple):
    """A model against another, by the means on each stream."""

    better: list[str]
    worse: list[str]
    surely_better: list[str]
    surely_worse: list[str]
    n_streams: int


def main_lengths(rows: Rows) -> Rows:
    """Of each stream the lines of the length with the most of them, the longer one if there are as many."""
    counts: dict[tuple[str, int], int] = {}
    for row in rows:
        place = (row["stream"], row["n_samples"])
        counts[place] = counts.get(place, 0) + 1
    best = {}
    for stream in {stream for stream, _ in counts}:
        best[stream] = max((n, length) for (name, length), n in counts.items() if name == stream)[1]
    return [row for row in rows if row["n_samples"] == best[row["stream"]]]


def longest_lengths(rows: Rows) -> Rows:
    """Lines of the longest runs on each stream that has longer ones than those of its main length."""
    usual = {row["stream"]: row["n_samples"] for row in main_lengths(rows)}
    longest = {stream: max(row["n_samples"] for row in rows if row["stream"] == stream) for stream in usual}
    return [row for row in rows if usual[row["stream"]] < row["n_samples"] == longest[row["stream"]]]


def by_repetition(rows: Rows, stream: str, model: str, what: str) -> dict[int, float]:
    """A number of every repetition in which it is defined."""
    return {
        row["repetition"]: row[what] for row in rows
        if row["stream"] == stream and row["model"] == model and not np.isnan(row[what])
    }  # fmt: skip


def values(rows: Rows, stream: str, model: str, what: str) -> np.ndarray:
    """A number of all repetitions, in their order."""
    found = by_repetition(rows, stream, model, what)
    return np.array([found[repetition] for repetition in sorted(found)])


def paired(rows: Rows, stream: str, a: str, b: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of two models in the repetitions that both have."""
    first, second = by_repetition(rows, stream, a, what), by_repetition(rows, stream, b, what)
    both = sorted(set(first) & set(second))
    return np.array([first[k] for k in both]), np.array([second[k] for k in both])


def p_value(a: np.ndarray, b: np.ndarray) -> float:
    """Of a paired two-sided t-test; nan for less than two pairs."""
    if len(a) < 2:
        return np.nan
    if np.ptp(a - b) == 0:
        return 1.0 if a[0] == b[0] else 0.0
    return float(ttest_rel(a, b).pvalue)


def adjusted_p_values(rows: Rows, a: str, b: str, what: str) -> dict[str, float]:
    """p-values of two models on all streams, by Holm's correction for their number; nan without two pairs."""
    found = {stream: p_value(*paired(rows, stream, a, b, what)) for stream in STREAMS}
    tested = [stream for stream, p in found.items() if not np.isnan(p)]
    if tested:
        found |= dict(zip(tested, holm([found[stream] for stream in tested]).tolist(), strict=True))
    return found


def compare(rows: Rows, a: str, b: str, what: str) -> Comparison:
    """On which streams the first model is better, and worse; surely, by p-values that are adjusted for all streams."""
    adjusted = adjusted_p_values(rows, a, b, what)
    sign = -1 if what == "cross_entropy" else 1
    found = Comparison([], [], [], [], sum(len(paired(rows, s, a, b, what)[0]) > 0 for s in STREAMS))
    for stream in STREAMS:
        first, second = paired(rows, stream, a, b, what)
        if not len(first):
            continue
        gain = sign * (first.mean() - second.mean())
        is_sure = adjusted[stream] < LEVEL
        for is_so, all_of, sure in (
            (gain > 0, found.better, found.surely_better), (gain < 0, found.worse, found.surely_worse),
        ):  # fmt: skip
            if is_so:
                all_of.append(stream)
                if is_sure:
                    sure.append(stream)
    return found


def published_value(stream: str, model: str, what: str) -> float:
    """A mean of the paper; nan where there is none."""
    return float(published()[stream].get(f"{SHORT[what]}_{model}") or np.nan)


def published_wins(streams: Sequence[str], a: str, b: str, what: str) -> int:
    """Number of streams on which the paper has the first model better, to its three digits."""
    sign = -1 if what == "cross_entropy" else 1
    return sum(sign * (published_value(s, a, what) - published_value(s, b, what)) > 0 for s in streams)


def ratios(rows: Rows, a: str, b: str, what: str = "cross_entropy") -> np.ndarray:
    """Quotients of means, one for each stream that both models have."""
    pairs = [paired(rows, stream, a, b, what) for stream in STREAMS]
    return np.array([first.mean() / second.mean() for first, second in pairs if len(first)])


def published_ratios(streams: Sequence[str], a: str, b: str, what: str = "cross_entropy") -> np.ndarray:
    """The same of the paper's figures."""
    return np.array([published_value(s, a, what) / published_value(s, b, what) for s in streams])


def cell(found: np.ndarray, digits: int = 3) -> str:
    """Mean and standard error."""
    if not len(found):
        return ""
    error = f" ± {found.std(ddof=1) / np.sqrt(len(found)):.{digits + 1}f}" if len(found) > 1 else ""
    return f"{found.mean():.{digits}f}{error}"


def size_cell(rows: Rows, stream: str) -> str:
    """Rows of a stream, and the part of the published number."""
    found = [row for row in rows if row["stream"] == stream]
    if not found:
        return ""
    part = 100 * found[0]["scale"]
    return f"{found[0]['n_samples']:_} ({f'{part:.0f}' if part >= 10 else f'{part:.2g}'} %)".replace("_", " ")


def marks(rows: Rows, stream: str, models: Sequence[str], what: str, against: dict[str, str]) -> dict[str, str]:
    """Signs behind means: of each tested pair, the better one, if it is surely better."""
    signs = dict.fromkeys(models, "")
    for (a, b), sign in ((pair.split(":"), sign) for pair, sign in against.items()):
        first, second = paired(rows, stream, a, b, what)
        if adjusted_p_values(rows, a, b, what)[stream] < LEVEL:
            is_first = (first.mean() < second.mean()) == (what == "cross_entropy")
            signs[a if is_first else b] += sign
    return signs


def comparison(
    rows: Rows, models: Sequence[str], what: str, against: dict[str, str], streams: Sequence[str] = STREAMS
) -> list[str]:
    """A table of means and standard errors, for each model the published figure, if there is one, and ours."""
    heads = []
    for model in models:
        title = "SoHoT" if model == "sohot" else MODEL_TITLES[model]
        heads += [title] if model == "improved" else [f"{title}: published", f"{title}: ours"]
    lines = [f"| {NAMES[what]} | rows | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (1 + len(heads))]
    for stream in streams:
        found = {model: values(rows, stream, model, what) for model in models}
        means = [v.mean() for v in found.values() if len(v)]
        best = (min if what == "cross_entropy" else max)(means) if means else np.nan
        signs = marks(rows, stream, models, what, against)
        cells = []
        for model in models:
            if model != "improved":
                cells.append(f"{published_value(stream, model, what):.3f}")
            text = cell(found[model], DIGITS[what])
            is_best = len(found[model]) > 0 and found[model].mean() == best
            cells.append((f"**{text}**" if is_best else text) + signs[model].replace("*", "\\*"))
        lines.append(f"| {TITLES[stream]} | {size_cell(rows, stream)} | " + " | ".join(cells) + " |")
    return lines


def counted(rows: Rows, a: str, b: str, what: str) -> str:
    """A sentence on wins, with those of the paper on the same streams."""
    found = compare(rows, a, b, what)
    text = (
        f"- {NAMES[what]}, {MODEL_TITLES[a]} against {MODEL_TITLES[b]}: better on {len(found.better)} of "
        f"{found.n_streams} (surely on {len(found.surely_better)}), worse on {len(found.worse)} (surely on "
        f"{len(found.surely_worse)})."
    )
    if a != "improved":
        text += f" Published: better on {published_wins(STREAMS, a, b, what)} of {len(STREAMS)}."
    return text


def limit_line(rows: Rows) -> str:
    """A sentence on whether the limit of inner nodes made a difference."""
    pairs = [paired(rows, s, "ht", "ht_limit", what) for s in STREAMS for what in NAMES]
    n_runs = sum(len(first) for first, _ in pairs) // len(NAMES)
    n_same = sum(int((first == second).sum()) for first, second in pairs) // len(NAMES)
    largest = max((row["n_nodes"] - 1) // 2 for row in rows if row["model"] == "ht") if n_runs else 0
    text = (
        f"- HT limit has the same results as HT in {n_same} of {n_runs} runs: the largest best tree of HT has "
        f"{largest:g} inner nodes"
    )
    return text + (f", so the limit of {LIMIT} does not bind at these lengths." if n_same == n_runs else ".")


def at_full_length(rows: Rows) -> list[str]:
    """Tables of the longest runs, on the streams that have some."""
    streams = [stream for stream in STREAMS if any(row["stream"] == stream for row in rows)]
    if not streams:
        return ["Nothing was run."]
    lines = []
    for what in NAMES:
        lines += [*comparison(rows, MODELS, what, {}, streams), ""]
    for a, b in (("sohot", "ht"), ("sohot", "st"), ("improved", "ht"), ("improved", "st")):
        both = [stream for stream in streams if len(paired(rows, stream, a, b, "cross_entropy")[0])]
        n_better = len(compare(rows, a, b, "cross_entropy").better)
        text = f"- Cross-entropy, {MODEL_TITLES[a]} against {MODEL_TITLES[b]}: better on {n_better} of {len(both)}."
        if a != "improved":
            text += f" Published: better on {published_wins(both, a, b, 'cross_entropy')} of {len(both)}."
        lines.append(text)
    return [*lines, limit_line(rows)]


def ratio_line(rows: Rows, a: str, b: str) -> str:
    """A sentence on the median quotient of cross-entropies."""
    found = ratios(rows, a, b)
    if not len(found):
        return f"- No stream has both {MODEL_TITLES[a]} and {MODEL_TITLES[b]}."
    text = (
        f"- Cross-entropy of {MODEL_TITLES[a]} divided by that of {MODEL_TITLES[b]}: median {np.median(found):.3f}, "
        f"geometric mean {np.exp(np.log(found).mean()):.3f} over {len(found)} streams."
    )
    if a != "improved":
        text += f" Published, on the same streams: median {np.median(published_ratios(STREAMS, a, b)):.3f}."
    return text


def expectations(rows: Rows) -> list[str]:
    """What was expected, what was found, and whether it is so."""
    faithful, ours = compare(rows, "sohot", "ht", "cross_entropy"), compare(rows, "improved", "ht", "cross_entropy")
    found = ratios(rows, "improved", "st")
    median = float(np.median(found)) if len(found) else np.nan
    lines = ["| expected | found | met |", "| --- | --- | --- |"]
    for text, result, is_met in (
        (
            f"SoHoT as published has a lower cross-entropy than HT on at least {PUBLISHED_WINS} streams",
            f"on {len(faithful.better)} of {faithful.n_streams}, surely on {len(faithful.surely_better)} "
            f"(published, on the same {len(STREAMS)}: {published_wins(STREAMS, 'sohot', 'ht', 'cross_entropy')})",
            len(faithful.better) >= PUBLISHED_WINS,
        ),
        (
            f"SoHoT with our defaults has a lower cross-entropy than HT on at least {OUR_WINS} streams",
            f"on {len(ours.better)} of {ours.n_streams}, surely on {len(ours.surely_better)}",
            len(ours.better) >= OUR_WINS,
        ),
        (
            f"and on the median at most {NEAR_ST:g} times that of ST",
            f"{median:.3f} times",
            median <= NEAR_ST,
        ),
    ):
        lines.append(f"| {text} | {result} | {'yes' if is_met else 'no'} |")
    return lines


def sizes(rows: Rows) -> str:
    """A sentence on how much was run."""
    if not rows:
        return "Nothing was run."
    repetitions = [len(values(rows, s, m, "cross_entropy")) for s in STREAMS for m in MODELS]
    few, many = min(repetitions), max(repetitions)
    lengths, parts = ([row[name] for row in rows] for name in ("n_samples", "scale"))
    shortest, longest = (f"{number:_}".replace("_", " ") for number in (min(lengths), max(lengths)))
    return (
        f"{few if few == many else f'{few} to {many}'} repetitions; streams of {shortest} to {longest} rows, "
        f"{100 * min(parts):.2g} to {100 * max(parts):.2g} % of the published lengths."
    )


def looks(rows: Rows) -> list[str]:
    """Sizes and transparency of the trees that were the best of their pools at the end, means over streams."""
    lines = ["| model | important features | alpha | inner nodes |", "| --- |" + " ---: |" * 3]
    for model in MODELS:
        cells = []
        for what, digits in (("important_share", 3), ("mean_alpha", 2), ("n_nodes", 0)):
            means = [found.mean() for s in STREAMS if len(found := values(rows, s, model, what))]
            number = float(np.mean(means)) if means else np.nan
            number = (number - 1) / 2 if what == "n_nodes" else number
            cells.append("" if np.isnan(number) else f"{number:.{digits}f}")
        lines.append(f"| {MODEL_TITLES[model]} | " + " | ".join(cells) + " |")
    return lines


def sections(rows: Rows) -> dict[str, str]:
    """The text of each part of the page that is made from runs."""
    longest, rows = longest_lengths(rows), main_lengths(rows)
    hoeffding, soft, ours = ("sohot", "ht", "ht_limit"), ("sohot", "st"), ("improved", "ht", "st")
    parts: dict[str, list[str]] = {"table 3": [], "table 4": [], "our defaults": [], "looks": looks(rows)}
    for what in NAMES:
        parts["table 3"] += [*comparison(rows, hoeffding, what, {"sohot:ht": "*"}), ""]
        parts["table 4"] += [*comparison(rows, soft, what, {"sohot:st": "*"}), ""]
        parts["our defaults"] += [*comparison(rows, ours, what, {"improved:ht": "*", "improved:st": "†"}), ""]
    for what in NAMES:
        parts["table 3"] += [counted(rows, "sohot", other, what) for other in ("ht", "ht_limit")]
        parts["table 4"].append(counted(rows, "sohot", "st", what))
        parts["our defaults"] += [counted(rows, "improved", other, what) for other in ("ht", "st", "sohot")]
    parts["table 3"].append(limit_line(rows))
    parts["table 4"].append(ratio_line(rows, "sohot", "st"))
    parts["our defaults"].append(ratio_line(rows, "improved", "st"))
    parts["published lengths"] = at_full_length(longest)
    parts["expectations"] = [*expectations(rows), "", sizes(rows)]
    return {title: "\n".join(lines).strip() for title, lines in parts.items()}


def write_summary(path: Path, rows: Rows) -> None:
    """Means and standard errors of all that was run."""
    groups: dict[tuple, Rows] = {}
    for row in rows:
        groups.setdefault((row["stream"], row["model"], row["n_samples"]), []).append(row)
    numbers = ("cross_entropy", "auroc", "accuracy", "seconds", "n_nodes", "mean_alpha", "important_share")
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        errors = [f"{name}_error" for name in numbers[:3]]
        writer.writerow(["stream", "model", "n_samples", "repetitions", *numbers, *errors])
        for place, group in sorted(groups.items()):
            found = {name: np.array([row[name] for row in group]) for name in numbers}
            known = {name: v[~np.isnan(v)] for name, v in found.items()}
            means = [f"{known[name].mean():.5g}" if len(known[name]) else "" for name in numbers]
            spread = [
                f"{known[name].std(ddof=1) / np.sqrt(len(known[name])):.3g}" if len(known[name]) > 1 else ""
                for name in numbers[:3]
            ]
            writer.writerow([*place, len(group), *means, *spread])
