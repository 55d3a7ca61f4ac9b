import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

from softwood import (
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    SoftTreeClassifier,
    explain,
    stream,
)
from softwood.explanations import certified_radius, shapley_values
from softwood.explanations.one_row import as_table
from softwood.stream import river
from tests.reference.trees import ALL_GATES, random_tree

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target_names[IRIS.target]


@pytest.fixture(scope="module")
def model():
    return KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=6).fit(X, Y)


def columns_of(text, header):
    """Cells of one column of the printed table, by name of the row."""
    lines = text.split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith("column "))
    names = re.split(r"\s{2,}", lines[at])
    cells = [re.split(r"\s{2,}", line) for line in lines[at + 1 : lines.index("", at)]]
    return {line[0]: line[names.index(header)] for line in cells if len(line) == len(names)}


# Numbers


def test_all_parts_are_those_of_their_functions(model):
    row = X.iloc[[70]]
    found = explain(model, row)
    assert found.prediction == pytest.approx(model.predict_proba(row)[0])
    assert found.outputs[found.output] == model.predict(row)[0]
    assert found.contributions == pytest.approx(shapley_values(model, row).values[0, :, found.output])
    assert found.slopes == pytest.approx(model.input_gradient(row)[0, found.output])
    assert found.certificates.reach == pytest.approx(certified_radius(model, row).reach)
    shares = model.memberships(row).toarray()[0] * (model.tree_.children_left < 0)
    assert [leaf.leaf for leaf in found.leaves] == np.argsort(-shares, kind="stable")[: len(found.leaves)].tolist()
    assert [leaf.share for leaf in found.leaves] == pytest.approx([shares[leaf.leaf] for leaf in found.leaves])
    assert len(explain(model, row, n_leaves=1).leaves) == 1


def test_text(model):
    text = str(explain(model, X.iloc[70]))
    assert text.startswith("KernelTreeClassifier predicts v")
    reach = certified_radius(model, X.iloc[[70]]).reach[0]
    off = columns_of(text, "may be off by")
    assert set(off) == set(X.columns)
    for name, value in zip(X.columns, reach, strict=True):
        assert off[name] == ("anything" if value == np.inf else f"{value:.3g}")
    assert columns_of(text, "value")["petal width (cm)"] == "1.8"
    assert "Shapley values add up from 0.3333" in text
    assert "bandwidths in sum" in text
    assert max(map(len, text.split("\n"))) <= 115


def test_another_output(model):
    row = X.iloc[[70]]
    other = explain(model, row, output=0)
    assert other.contributions == pytest.approx(shapley_values(model, row).values[0, :, 0])
    assert "to the probability of setosa" in str(other)


@pytest.mark.parametrize(
    "form",
    [
        lambda r: r.iloc[0],
        lambda r: r.iloc[0].to_dict(),
        lambda r: r.iloc[0].to_numpy(),
        lambda r: tuple(r.iloc[0]),
        pl.from_pandas,
        lambda r: r,
    ],
)
def test_forms_of_a_row(model, form):
    assert str(explain(model, form(X.iloc[[70]]))) == str(explain(model, X.iloc[[70]]))


def test_rows_for_models_without_names(model):
    nameless = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=6).fit(X.to_numpy(), Y)
    for row in (X.iloc[70], X.iloc[70].to_numpy(), X.to_numpy()[[70]], list(X.iloc[70])):
        found = explain(nameless, row)
        assert found.columns == ("x[0]", "x[1]", "x[2]", "x[3]")
        assert found.contributions == pytest.approx(explain(model, X.iloc[70]).contributions)


def test_one_row_keeps_its_types():
    table = as_table("test", {"size": 1, "city": "Rome"}, ("size", "city"), True)
    assert table["size"].dtype.kind == "i"
    assert table["city"].tolist() == ["Rome"]
    assert as_table("test", [1, "Rome"], ("a", "b"), False).tolist() == [[1, "Rome"]]
    # names that are not text
    keys = ("x[2]", "x[1]"), False, (2, 1)
    for row in ({1: 5.0, 2: 7.0}, pd.Series({1: 5.0, 2: 7.0}), [7.0, 5.0]):
        assert as_table("test", row, *keys).tolist() == [[7.0, 5.0]]


# Models


def test_regressors_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=300), "city": rng.choice(["Rome", "Oslo", "Bonn"], 300)})
    table["age"] = np.where(rng.random(300) < 0.1, np.nan, rng.uniform(20, 80, 300))
    y = 3 * table["size"] + 5 * (table["city"] == "Rome") + table["age"].fillna(0) / 50
    model = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.2, max_depth=5).fit(table, y)
    found = explain(model, {"size": 0.3, "city": "Rome", "age": None})
    text = str(found)
    assert text.startswith(f"KernelTreeRegressor predicts {found.prediction[0]:.4g}")
    assert columns_of(text, "value") == {"size": "0.3", "city": "Rome", "age": "missing"}
    assert "may be off by" not in text
    assert any("city = Rome" in leaf.rules for leaf in found.leaves)
    classifier = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=5).fit(table, y > 1)
    off = columns_of(str(explain(classifier, {"size": 0.3, "city": "Rome", "age": None})), "may be off by")
    assert off["city"] == off["age"] == "—"
    boosted = explain(KernelBoostingRegressor(max_iter=5).fit(table, y), table.iloc[0])
    assert f"in tree {boosted.tree} of 5" in str(boosted)


def test_forests_show_a_typical_tree():
    rows, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = KernelForestClassifier(7, bandwidth=0.3, random_state=0).fit(rows, y)
    found = explain(model, rows.iloc[13], n_columns=5)
    each = np.array([tree.predict(rows.to_numpy()[[13]])[0] for tree in model.forest_])
    assert found.tree == np.abs(each - each.mean(axis=0)).sum(axis=1).argmin()
    assert f"in tree {found.tree} of 7" in str(found)
    assert "25 more columns, " in str(found)
    assert len(columns_of(str(found).replace("25 more columns", "\n25 more columns"), "value")) == 5
    assert explain(model, rows.iloc[13], tree=2).tree == 2
    total = float(re.search(r"more columns, (\S+) together", str(found))[1])
    order = np.argsort(-np.abs(found.contributions), kind="stable")
    assert total == pytest.approx(found.contributions[order[5:]].sum(), rel=0.01, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting(n_classes):
    keep = IRIS.target < n_classes
    model = KernelBoostingClassifier(max_iter=5).fit(X[keep], Y[keep])
    found = explain(model, X.iloc[60])
    assert found.prediction == pytest.approx(model.predict_proba(X.iloc[[60]])[0])
    assert "raw score" in str(found)
    parts = [tree.predict(X.to_numpy()[[60]])[0, 0] for tree in model.forest_]
    own = [k for k in range(len(parts)) if n_classes == 2 or model.forest_.output[k] == found.output]
    assert found.tree == max(own, key=lambda k: abs(parts[k]))


def test_oblique_and_stream_models():
    soft = explain(SoftTreeClassifier(max_depth=3, random_state=0).fit(X, Y), X.iloc[70])
    assert "no radius in bandwidths: gates that weigh several columns" in str(soft)
    naive = stream.HoeffdingTreeClassifier(leaf_prediction="nb").fit(X, Y)
    text = str(explain(naive, X.iloc[3]))
    assert "predict with models of their own" in text
    assert "all rows" in text
    blended = stream.SoftHoeffdingTreeClassifier(random_state=0, grace_period=50, tau=0.2).fit(X, Y)
    assert explain(blended, X.iloc[3]).prediction == pytest.approx(blended.predict_proba(X.iloc[[3]])[0])
    pool = stream.ModelPool([stream.SoftHoeffdingTreeClassifier(random_state=0)]).fit(X, Y)
    assert "SoftHoeffdingTreeClassifier predicts" in str(explain(pool, X.iloc[3]))


def test_models_for_river():
    other = river.SoftHoeffdingTreeRegressor(seed=0, grace_period=50, tau=0.2)
    for row in X.to_dict("records"):
        other.learn_one(row, row["petal width (cm)"])
    row = X.iloc[3].to_dict()
    found = explain(other, row)
    assert found.prediction[0] == pytest.approx(other.predict_one(row))
    assert sorted(found.columns) == sorted(X.columns)
    start = float(found.shapley.base_values[0])
    assert start + found.contributions.sum() == pytest.approx(found.prediction[0])


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_bare_trees(n_outputs):
    tree = random_tree(0, gates=ALL_GATES, n_outputs=n_outputs)
    found = explain(tree, [0.1, np.nan, 1.0])
    assert found.prediction == pytest.approx(tree.predict(np.array([[0.1, np.nan, 1.0]]))[0])
    assert found.slopes == pytest.approx(tree.input_gradient(np.array([[0.1, np.nan, 1.0]]))[0, 0])
    assert "SoftTree predicts" in str(found)


# HTML


class Reader(HTMLParser):
    """Tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = set(), set(), [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


def test_html_is_escaped_and_has_no_scripts():
    rng = np.random.default_rng(0)
    evil = "</td><script>alert(1)</script>"
    table = pd.DataFrame({evil: rng.normal(size=200), "city": rng.choice([evil, "Oslo & co", "Bonn"], 200)})
    y = np.where((table["city"] == evil) | (table[evil] > 0.5), evil, "<b>other</b>")
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=3).fit(table, y)
    found = explain(model, table.iloc[0])
    html = found._repr_html_()
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert reader.tags == {"div", "p", "b", "table", "tr", "td", "th", "span", "br"}
    assert reader.attributes == {"style"}
    assert evil in reader.text
    assert "http" not in html
    assert "color:inherit" in html
    for colour in re.findall(r"(?<![-\w])(?:color|background):([^;\"]+)", html):
        assert colour in ("inherit", "transparent") or colour.startswith("rgba(")
    assert repr(found).startswith("<Explanation: KernelTreeClassifier predicts ")


# Errors


def test_wrong_arguments(model):
    row = X.iloc[0]
    with pytest.raises(ValueError, match=r"'row' parameter of explain must be a single row. Got 'a table of 3 rows'"):
        explain(model, X[:3])
    with pytest.raises(ValueError, match=r"'output' parameter of explain must be an int in the range \[0, 2\] or None"):
        explain(model, row, output=3)
    with pytest.raises(ValueError, match=r"'tree' parameter of explain must be an int in the range \[0, 0\] or None"):
        explain(model, row, tree=1)
    with pytest.raises(ValueError, match="'n_leaves' parameter of explain must be an int"):
        explain(model, row, n_leaves=0)
    with pytest.raises(ValueError, match="'n_columns' parameter of explain must be an int"):
        explain(model, row, n_columns=0)
    with pytest.raises(TypeError, match="explain takes a fitted estimator of softwood, a SoftTree or a SoftForest"):
        explain("model", row)
    with pytest.raises(NotFittedError):
        explain(KernelTreeClassifier(), row)
