"""Attacks on certificates: rows that are moved within what is certified, and must keep their class.

``python -m tests.explanations.attack --points 1000000`` attacks models of all families on five data sets, and prints
the number of rows that changed although they were certified. It must be 0.
"""

import argparse
import time

import numpy as np
from sklearn import datasets

import softwood
from softwood import stream
from softwood.explanations import certified_radius, certify
from softwood.fitted import FittedModel

WITHIN = 1.0 - 1e-9  # a certificate excludes its border
FAR = 1e4  # in standard deviations, where a reading may have any value


def tables():
    """Five data sets: numbers, with missing values, with many columns, with few rows, and with real targets."""
    rng = np.random.default_rng(0)
    out = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        out[name] = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, y = out["breast_cancer"]
    out["breast_cancer"] = np.where(rng.random(X.shape) < 0.03, np.nan, X), y
    out["diabetes"] = datasets.load_diabetes(return_X_y=True, scaled=False)
    return out


def models(y):
    """Models of all families, unfitted, by name; for classes or for real targets."""
    few = {"random_state": 0}
    if np.asarray(y).dtype.kind == "f":
        return {
            "tree": softwood.KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=30),
            "forest": softwood.KernelForestRegressor(10, bandwidth=0.3, **few),
            "boosting": softwood.KernelBoostingRegressor(max_iter=20, bandwidth=0.2),
            "soft tree": softwood.SoftTreeRegressor(max_depth=3, **few),
        }
    return {
        "tree": softwood.KernelTreeClassifier(bandwidth=0.4, max_leaf_nodes=20),
        "tree without cutoff": softwood.KernelTreeClassifier(bandwidth=0.4, cutoff=0.0, max_leaf_nodes=20),
        "tree with a width per node": softwood.KernelTreeClassifier(
            bandwidth=0.3, bandwidth_per_node=True, max_depth=5
        ),
        "tree of Gaussians": softwood.KernelTreeClassifier(bandwidth=0.3, kernel="gaussian", max_depth=5),
        "crisp tree": softwood.KernelTreeClassifier(bandwidth=0.0, max_leaf_nodes=20),
        "forest": softwood.KernelForestClassifier(10, bandwidth=0.3, **few),
        "extra trees": softwood.KernelExtraTreesClassifier(10, bandwidth=0.3, **few),
        "boosting": softwood.KernelBoostingClassifier(max_iter=20, bandwidth=0.2),
        "soft tree": softwood.SoftTreeClassifier(max_depth=3, **few),
        "one-stage forest": softwood.OneStageForestClassifier(n_estimators=3, max_depth=3, **few),
        "discriminant tree": softwood.LinearDiscriminantTreeClassifier(**few),
        "stream tree": stream.SoftHoeffdingTreeClassifier(**few, grace_period=50, tau=0.2),
    }


def in_box(rng, rows, deltas, slopes):
    """Rows of a box: at random, in its corners, and in the corners that the slopes lead to, one of three each.

    Parameters
    ----------
    deltas : (n, p) half-lengths;  slopes : (n, p) how the prediction changes
    """
    kind = rng.integers(3, size=len(rows))
    signs = rng.choice([-1.0, 1.0], size=rows.shape)
    parts = np.where((kind == 0)[:, None], rng.uniform(-1, 1, size=rows.shape), signs)
    downhill = (kind == 2)[:, None] & (slopes != 0)
    return rows + WITHIN * deltas * np.where(downhill, -np.sign(slopes), parts)


def in_ball(rng, rows, radius, bandwidths, slopes):
    """Rows whose moves in bandwidths add up to less than the radius: at random, along one column, and downhill."""
    kind = rng.integers(3, size=len(rows))
    moving = np.where(np.isfinite(bandwidths), bandwidths, 0.0)
    parts = rng.exponential(size=rows.shape) * (moving > 0)
    parts[kind == 1] *= rng.permuted(np.eye(rows.shape[1])[np.zeros(np.sum(kind == 1), int)], axis=1)
    pull = np.abs(slopes) * moving
    is_steepest = (pull == pull.max(axis=1, keepdims=True)) & (pull > 0)
    parts = np.where((kind == 2)[:, None] & is_steepest.any(axis=1, keepdims=True), is_steepest, parts)
    total = parts.sum(axis=1, keepdims=True)
    parts = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
    signs = np.where((kind == 2)[:, None] & (slopes != 0), -np.sign(slopes), rng.choice([-1.0, 1.0], size=rows.shape))
    return rows + WITHIN * radius[:, None] * moving * signs * parts


def alone(rng, rows, reach, spread):
    """Rows with one reading moved as far as it may, or a random part of it."""
    at = rng.integers(rows.shape[1], size=len(rows))
    far = np.minimum(np.nan_to_num(reach, nan=0.0), FAR * spread)[np.arange(len(rows)), at]
    part = np.where(rng.random(len(rows)) < 0.5, 1.0, rng.random(len(rows)))
    moved = rows.copy()
    moved[np.arange(len(rows)), at] += WITHIN * far * part * rng.choice([-1.0, 1.0], size=len(rows))
    return moved


def slopes_of(model, X, labels):
    """Derivative of the lead of each row's class over the next one, (n, p)."""
    try:
        gradient = model.input_gradient(X)
    except AttributeError:
        return np.zeros(X.shape)
    predictions = FittedModel.of(model).predict(X)
    if predictions.shape[1] == 1 or gradient.shape[1] < predictions.shape[1]:
        return np.nan_to_num(gradient[:, 0])
    rows = np.arange(len(X))
    predictions[rows, labels] = -np.inf
    return np.nan_to_num(gradient[rows, labels] - gradient[rows, predictions.argmax(axis=1)])


def attack(model, X, n_points, seed=0):
    """Attack a fitted model; return the numbers of moved rows, and of those that broke their certificate."""
    rng = np.random.default_rng(seed)
    certificates = certified_radius(model, X)
    spread = np.nanstd(X, axis=0)
    is_class = hasattr(model, "classes_")
    classes = model.predict(X) if is_class else None
    labels = certificates.predictions.argmax(axis=1)
    slopes = slopes_of(model, X, labels)
    boxes = [np.tile(size * spread * rng.uniform(0.3, 1.7, len(spread)), (len(X), 1)) for size in (0.003, 0.03, 0.1)]
    bounds = [certificates.bounds(deltas) for deltas in boxes]
    certain = [certify(model, X, deltas) for deltas in boxes] if is_class else []
    done = broken = 0
    while done < n_points:
        for deltas, (low, high) in zip(boxes, bounds, strict=True):
            moved = FittedModel.of(model).predict(in_box(rng, X, deltas, slopes))
            broken += int(np.sum(np.any((moved < low - 1e-12) | (moved > high + 1e-12), axis=1)))
            done += len(X)
        for deltas, sure in zip(boxes, certain, strict=False):
            if sure.any():
                found = model.predict(in_box(rng, X[sure], deltas[sure], slopes[sure]))
                broken += int(np.sum(found != classes[sure]))
                done += int(sure.sum())
        if is_class:
            rows = np.flatnonzero(~np.isnan(certificates.radius))
            radius = np.minimum(certificates.radius, FAR)
            if len(rows):
                moved = in_ball(rng, X[rows], radius[rows], certificates.bandwidths, slopes[rows])
                broken += int(np.sum(model.predict(moved) != classes[rows]))
                done += len(rows)
            for _ in range(3):
                broken += int(np.sum(model.predict(alone(rng, X, certificates.reach, spread)) != classes))
                done += len(X)
    return done, broken


def main():
    """Attack all models on all data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000, help="rows to move (default %(default)s)")
    chosen = parser.parse_args()
    sets = tables()
    n_runs = sum(len(models(y)) for _, y in sets.values())
    total = wrong = 0
    for name, (X, y) in sets.items():
        for kind, model in models(y).items():
            start = time.perf_counter()
            model.fit(X, y)
            done, broken = attack(model, X[:300], -(-chosen.points // n_runs))
            total, wrong = total + done, wrong + broken
            seconds = time.perf_counter() - start
            print(f"{name:14} {kind:28} {done:8} rows moved, {broken} broke their certificate  ({seconds:.1f} s)")
    print(f"{total} rows moved, {wrong} broke their certificate")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
