"""The parts of the guide that use MAPIE and crepes."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from softwood import KernelForestRegressor

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "intervals.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("package", ["mapie", "crepes"])
@pytest.mark.filterwarnings("ignore")
def test_their_intervals_of_softwoods_models(package):
    pytest.importorskip(package)
    X, y = load_diabetes(return_X_y=True)
    parts = dict(zip(("X_train", "X_test", "y_train", "y_test"), train_test_split(X, y, random_state=0), strict=True))
    names = {**parts, "np": np, "KernelForestRegressor": KernelForestRegressor}
    (block,) = [block for block in BLOCKS if f"from {package}" in block]
    exec(block, names)
    ends = np.asarray(names["ends"]).reshape(111, 2)
    covered = (ends[:, 0] <= parts["y_test"]) & (parts["y_test"] <= ends[:, 1])
    assert 0.8 < covered.mean() < 1.0
