"""The file: what is in it and what is not, how large it is, and what is said about wrong arguments."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import softwood
from softwood import SoftForest, SoftTree, report, stream
from softwood.reporting import report as reporting
from tests.export.models import fitted, fitted_to_frames, frame, frame_targets, labels, mixed_tree, numbers


def data_of(made):
    """The data that the page embeds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', made.html, re.S)[1])


def wide_tree(n_leaves, seed=0):
    """A tree of kernel gates with many leaves: a chain of bushes."""
    rng = np.random.default_rng(seed)
    parent, left, right = [-1], [-1], [-1]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = len(left), len(left) + 1
        for child in (left[node], right[node]):
            leaves.append(child)
            parent.append(node)
            left.append(-1)
            right.append(-1)
    inner = np.array(left) >= 0
    n = len(left)
    mass = np.zeros(n)
    mass[leaves] = rng.random(len(leaves))
    for node in range(n - 1, 0, -1):
        mass[parent[node]] += mass[node]
    return SoftTree.from_nodes(
        children_left=left, children_right=right, feature=np.where(inner, rng.integers(0, 5, n), -1),
        threshold=np.where(inner, rng.normal(size=n), np.nan), width=np.where(inner, 0.1, 0.0), n_features=5, mass=mass,
        value=rng.dirichlet([1, 1, 1], n),
    )  # fmt: skip


def test_the_page_has_no_address_and_runs_nothing_else(tmp_path):
    model = fitted()["kernel tree, box"]
    made = report(model, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == made.html
    assert not re.search(r"""https?:|["'(]//|src=|@import|url\(""", made.html)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made.html)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_names_are_text():
    evil = "</script><b>"
    X = pd.DataFrame(numbers()[:, :2], columns=[evil, "<!--"])
    model = softwood.KernelTreeClassifier(bandwidth=0.2, max_depth=3).fit(X, np.where(X[evil] > 0, "<i>", "&lt;"))
    made = report(model, X=X)
    assert evil not in made.html
    assert made.html.count("</script>") == 2
    found = data_of(made)
    assert found["model"]["inputs"][0]["name"] == evil
    assert found["model"]["classes"] == ["&lt;", "<i>"]


def test_a_notebook_shows_the_same_page_in_a_sandbox():
    made = report(fitted()["kernel tree, box"])
    shown = made._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == made.html
    assert repr(made).startswith("<Report of ")


def test_sizes():
    small = report(fitted()["one leaf"]).html
    assert len(small.encode()) < 200_000
    assert len(report(wide_tree(2500)).html.encode()) < 2_000_000


def test_no_row_is_embedded_unless_asked_for():
    X = numbers()
    X[:, 0] += np.pi
    model = softwood.KernelTreeClassifier(bandwidth=0.2, max_depth=3).fit(X, labels(X))
    found = json.dumps(data_of(report(model, X=X, y=labels(X))))
    inside = [x for x in X[:, 0] if not np.isnan(x) and repr(float(x)) in found]
    assert set(inside) <= {np.nanmin(X[:, 0]), np.nanmax(X[:, 0]), np.nanmedian(X[:, 0])}
    assert data_of(report(model, X=X))["rows"] is None


def test_rows():
    table = frame(40)
    model = fitted_to_frames()["kernel tree of a frame"]
    y = np.digitize(frame_targets(table), [1.0, 2.0])
    for rows, expected in ((3, [0, 1, 2]), ([7, 1], [7, 1]), (np.array([5]), [5])):
        found = data_of(report(model, X=table, y=y, rows=rows))["rows"]
        assert found["numbers"] == expected
        assert found["targets"] == [str(y[i]) for i in expected]
    found = data_of(report(model, rows=table.iloc[4:6]))["rows"]
    assert found["targets"] is None
    names = list(table.columns)
    for place, i in enumerate((4, 5)):
        cells = [column[place] for column in found["cells"]]
        categories = data_of(report(model))["model"]["inputs"]
        for name, cell, column in zip(names, cells, categories, strict=True):
            shown = cell if cell is None or column["categories"] is None else column["categories"][cell]
            given = table[name].iloc[i]
            assert shown is None if pd.isna(given) else shown == given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1]}, "'y' parameter of report needs the rows"),
        ({"rows": 3}, "'rows' parameter of report needs X"),
        ({"X": np.ones((2, 4)), "rows": [2]}, "'rows' parameter of report .* from 0 to 1"),
        ({"X": np.ones((2, 4)), "rows": "all"}, "'rows' parameter of report .* Got 'all'"),
        ({"X": np.ones((2, 4)), "rows": [0.5]}, "'rows' parameter of report"),
        ({"rows": np.ones((2001, 4))}, "'rows' parameter of report .* at most 2000 rows"),
        ({"X": np.ones((2, 4)), "y": ["ant", "emu"]}, "y holds classes that were not seen in fit: .'emu'."),
        ({"X": np.ones((2, 4)), "y": ["ant"]}, "y must have as many rows as X. Got 1 rows, X has 2"),
        ({"history": 1}, "'history' parameter of report"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        report(fitted()["kernel tree, box"], **arguments)


def test_wrong_targets():
    model = fitted()["boosting, crisp"]
    with pytest.raises(ValueError, match="y must have 1 columns"):
        report(model, X=np.ones((3, 4)), y=np.ones((3, 2)))


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="report takes a fitted estimator"):
        report(3)
    with pytest.raises(NotFittedError):
        report(softwood.KernelTreeClassifier())


def test_leaves_with_models_of_their_own_are_told():
    X = numbers(1000)
    model = stream.HoeffdingTreeClassifier(grace_period=50, tau=0.2).fit(X, labels(X))
    found = data_of(report(model, X=X, y=labels(X)))
    assert "predict with models of their own" in found["notes"][0]
    assert found["evaluation"]["scores"]["accuracy"] == pytest.approx(model.score(X, labels(X)))


def test_large_models_are_thinned_out(monkeypatch):
    monkeypatch.setattr(reporting, "LARGEST_MODEL", 100_000)
    tree = wide_tree(5000)
    found = data_of(report(tree))
    assert "heaviest of 9,999 nodes" in found["notes"][0]
    assert reporting._size(found["model"]) <= 100_000
    forest = SoftForest.mean([mixed_tree(k) for k in range(60)])
    found = data_of(report(forest))
    assert "of 60 trees" in found["notes"][0]
    assert 1 <= len(found["model"]["offsets"]) - 1 < 60
    assert reporting._size(found["model"]) <= 100_000


def test_nothing_is_written_if_the_model_is_wrong(tmp_path):
    with pytest.raises(TypeError):
        report(3, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_snapshots_know_the_categories_of_their_time():
    table = frame(600)
    table["city"] = np.where(np.arange(600) < 300, "Rome", table["city"].fillna("Oslo"))
    y = frame_targets(table) > 1.5
    model = stream.SoftHoeffdingTreeClassifier(random_state=0, grace_period=50, tau=0.1)
    history = stream.adaptation(model, (table, y), window=100, snapshots=[200], classes=[False, True])
    found = data_of(report(model, history=history))
    city = list(table.columns).index("city")
    assert found["snapshots"][0]["model"]["inputs"][city]["categories"] == ["Rome"]
    assert len(found["model"]["inputs"][city]["categories"]) > 1
    assert len(found["snapshots"][0]["model"]["features"]) == history.snapshots[200].n_features


def test_stream_models_have_a_time_line():
    X = numbers(3000)
    model = stream.SoftHoeffdingTreeClassifier(random_state=0, grace_period=50, tau=0.1)
    history = stream.adaptation(model, (X, labels(X)), window=500, snapshots=[1000, 2000], classes=np.unique(labels(X)))
    found = data_of(report(model, history=history))
    assert found["stream"]["nEvents"] == len(model.log_)
    assert [curve["name"] for curve in found["stream"]["curves"]] == ["cross-entropy", "nodes"]
    assert [snapshot["rows"] for snapshot in found["snapshots"]] == [1000, 2000]
    assert data_of(report(model.tree_))["stream"] is None
    result = stream.prequential(model, (X, labels(X)), window=500)
    curves = data_of(report(model, history=result))["stream"]["curves"]
    assert curves[0]["name"] == "accuracy"
    assert curves[0]["rows"] == result.curves["n_samples"].tolist()
