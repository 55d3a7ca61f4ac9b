"""``softwood explain`` prints how far readings can be off."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import softwood
from softwood import stream
from softwood.explanations import certified_radius


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    iris = load_iris(as_frame=True)
    X, y = iris.data.assign(place=np.where(np.arange(150) % 2, "a", "b")), iris.target_names[iris.target]
    X.to_csv(folder / "iris.csv", index=False)
    models = {
        "tree": softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=4),
        "root": softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=1, min_mass=1000.0),
        "naive": stream.HoeffdingTreeClassifier(leaf_prediction="nb"),
    }
    for name, model in models.items():
        softwood.save(model.fit(X, y if name != "root" else np.where(np.arange(150) < 100, "x", "y")), folder / name)
    softwood.save(
        softwood.KernelTreeRegressor(refine=False, trend=None, max_depth=2).fit(X, X["petal width (cm)"]),
        folder / "width",
    )
    return folder


def test_numbers_are_those_of_python(explain):
    expected = certified_radius(softwood.load("tree"), pd.read_csv("iris.csv")[70:71])
    found = json.loads(explain("tree", "iris.csv", "--row", "70", "--json"))["certificate"]
    assert found["radius"] == pytest.approx(expected.radius[0])
    assert found["reason"] is None
    for name, far in zip(expected.columns, expected.reach[0], strict=True):
        own = found["may_be_off_by"][name]
        assert own == ("anything" if far == np.inf else None if np.isnan(far) else pytest.approx(far))
    assert found["may_be_off_by"]["place"] is None
    text = explain("tree", "iris.csv", "--row", "70")
    lines = text.partition("before the class may change\n")[2].splitlines()
    assert lines[1].startswith("petal width (cm)")
    assert float(lines[1].split()[-1]) == pytest.approx(expected.reach[0, 3], rel=1e-3)
    assert lines[3] == ""


def test_nothing_to_certify(explain):
    assert "no reading alone can change the class" in explain("root", "iris.csv")
    assert "no certificate: The leaves of this HoeffdingTreeClassifier predict" in explain("naive", "iris.csv")
    assert "off" not in explain("width", "iris.csv").partition("Shapley")[0]
    assert "regressor" in json.loads(explain("width", "iris.csv", "--json"))["certificate"]["reason"]
