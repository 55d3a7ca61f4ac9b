"""The pools of models of the Soft Hoeffding Tree paper's tables, by name, with the grids of its table 2."""

from __future__ import annotations

from typing import Any

from softwood.stream import HoeffdingTreeClassifier, ModelPool, SmoothStepTreeClassifier, SoftHoeffdingTreeClassifier

N_MODELS = 18
# The trees of the paper are those of river.
RIVERS: dict[str, Any] = {
    "unseen_values": "ignored",
    "binary_split": True,
    "inherited_weight": 0.0,
    "restart_rise": None,
}
LIMIT = 127  # inner nodes of the deepest soft Hoeffding tree
DEPTHS, RATES = [5, 6, 7], [1e-2, 1e-3]
DELTAS, GRACES = [1e-6, 1e-7, 1e-8], [200, 400, 600]
# The text of table 2 that is left does not say which values of alpha were tried.
ALPHAS = [0.2, 0.3, 0.4]

TITLES = {
    "sohot": "SoHoT as published", "ht": "HT", "ht_limit": "HT limit", "st": "ST", "improved": "SoHoT, our defaults",
}  # fmt: skip
MODELS = tuple(TITLES)
SOFT = ("sohot", "st", "improved")


def gammas(stream: str) -> list[float]:
    """Widths of the smooth step; the paper has others for the hyperplane."""
    return [0.5, 0.1] if stream.startswith("hyperplane") else [1.0, 0.1, 0.01]


def make_pool(name: str, stream: str, seed: int, n_models: int = N_MODELS) -> ModelPool:
    """A pool of at most `n_models` settings, drawn by the seed if the grid has more."""
    grid: dict[str, list[Any]]
    model: Any
    if name in ("ht", "ht_limit"):
        model = HoeffdingTreeClassifier(max_inner_nodes=LIMIT if name == "ht_limit" else None, **RIVERS)
        grid = {"leaf_prediction": ["mc", "nba"], "delta": DELTAS, "grace_period": GRACES}
    elif name == "st":
        model = SmoothStepTreeClassifier(outlier_limit=None, random_state=seed)
        grid = {"max_depth": DEPTHS, "gamma": gammas(stream), "learning_rate": RATES}
    else:
        grid = {"max_depth": DEPTHS, "gamma": gammas(stream), "learning_rate": RATES}
        if name == "sohot":
            model = SoftHoeffdingTreeClassifier.as_published(random_state=seed)
            grid |= {"alpha": ALPHAS, "delta": DELTAS, "grace_period": GRACES}
        elif name == "improved":
            model = SoftHoeffdingTreeClassifier(random_state=seed)
        else:
            raise ValueError(f"There is no model {name!r}; there are {', '.join(MODELS)}.")
    return ModelPool.from_grid(model, grid, n_models=n_models, random_state=seed, period=100)
