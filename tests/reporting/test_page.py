"""The page as a person uses it, in a browser: sliders, switches, folding, searching, themes, keys."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from sklearn.datasets import load_wine

import softwood
from softwood import report, stream
from softwood.explanations import certified_radius, shapley_values
from softwood.fitted import FittedModel
from softwood.trees.text import tree_text
from tests.export.models import all_fitted, fitted, fitted_to_frames, frame, frame_targets, labels, numbers

EVIL = "</script><b>"


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True)
    X = data.data[["alcohol", "flavanoids", "color_intensity", "proline"]].rename(columns={"color_intensity": EVIL})
    y = data.target_names[data.target]
    return X, y, softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3, max_depth=5).fit(X, y)


@pytest.fixture
def wine_page(wine, page, tmp_path):
    X, y, model = wine
    report(model, tmp_path / "page.html", X=X, y=y, rows=[0, 77, 120])
    return page.open(tmp_path / "page.html")


def row_of(page, X):
    """The row that the page shows, as a frame."""
    cells = page.run("return softwoodReport.page.now.cells")
    return pd.DataFrame([[np.nan if cell is None else cell for cell in cells]], columns=X.columns)


def column_of(X, name):
    return f"#column-{list(X.columns).index(name)}"


def missing_of(X, name):
    return f".column:has({column_of(X, name)}) .missing input"


def assert_shows(page, model, row):
    """All numbers of the page are those of Python."""
    now = page.run(
        "const { prediction, shapley, certificate } = softwoodReport.page.now;"
        "return [prediction, shapley.values.map((own) => Array.from(own)), certificate.radius]"
    )
    probabilities = model.predict_proba(row)[0]
    np.testing.assert_allclose(now[0], probabilities, atol=1e-12)
    np.testing.assert_allclose(now[1], shapley_values(model, row).values[0], atol=1e-12)
    np.testing.assert_allclose(now[2], certified_radius(model, row).radius[0], rtol=1e-5)
    assert page.text("#prediction output") == model.predict(row)[0]
    shown = page.text("#prediction .quiet")
    assert float(re.search(r"([\d.]+) %", shown)[1]) == pytest.approx(100 * probabilities.max(), abs=0.06)
    best = int(probabilities.argmax())
    values = shapley_values(model, row).values[0, :, best]
    bars = page.run("return Array.from(document.querySelectorAll('#shapley .number'), (x) => x.textContent)")
    told = sorted(float(text.replace("−", "-")) for text in bars)
    assert len(told) == len(values)
    np.testing.assert_allclose(told, sorted(values), atol=6e-3 * np.abs(values).max() + 1e-9)


def test_sliders(wine, wine_page):
    X, _, model = wine
    seen = set()
    for value in (0.6, 1.7, 3.5):
        wine_page.set(column_of(X, "flavanoids"), str(value))
        row = row_of(wine_page, X)
        assert row["flavanoids"].item() == value
        assert_shows(wine_page, model, row)
        seen.add(wine_page.text("#prediction output"))
    assert len(seen) > 1
    wine_page.set(f".column:has({column_of(X, 'proline')}) .value", "812.25")
    row = row_of(wine_page, X)
    assert row["proline"].item() == 812.25
    assert_shows(wine_page, model, row)


def test_missing_switch(wine, wine_page):
    X, _, model = wine
    wine_page.set(missing_of(X, "flavanoids"), True, "change")
    row = row_of(wine_page, X)
    assert np.isnan(row["flavanoids"].item())
    assert_shows(wine_page, model, row)
    assert wine_page.run(f"return document.querySelector('{column_of(X, 'flavanoids')}').disabled")
    wine_page.set(missing_of(X, "flavanoids"), False, "change")
    assert row_of(wine_page, X).notna().all(axis=None)


def test_certificates_on_the_page(wine, wine_page):
    X, _, model = wine
    wine_page.set("#row", "1", "change")
    row = X.iloc[[77]]
    reach = certified_radius(model, row).reach[0]
    rows = wine_page.run(
        "const lines = Array.from(document.querySelectorAll('#certificate tbody tr'));"
        "return lines.map((line) => Array.from(line.cells, (cell) => cell.textContent))"
    )
    for name, reading, limit, _ in rows:
        j = list(X.columns).index(name)
        assert float(reading) == pytest.approx(X[name].iloc[77], rel=1e-3)
        if np.isinf(reach[j]):
            assert limit == "any"
        else:
            assert float(limit.removeprefix("±")) == pytest.approx(reach[j], rel=6e-3)
    assert len(rows) == 4


def test_rows_can_be_chosen(wine, wine_page):
    X, y, _ = wine
    for place, i in enumerate((0, 77, 120)):
        wine_page.set("#row", str(place), "change")
        np.testing.assert_array_equal(row_of(wine_page, X), X.iloc[[i]])
        assert wine_page.text("#target") == f"is {y[i]}"
        assert wine_page.run("return document.getElementById('row').value") == str(place)
    wine_page.set(column_of(X, "proline"), "900")
    assert wine_page.run("return document.getElementById('row').value") == ""
    assert wine_page.text("#target") == ""


def test_measurement_error(wine, wine_page):
    X, _, model = wine
    row = row_of(wine_page, X)
    matrix = row.to_numpy()
    wine_page.set("#factor", "0")
    crisp = model.tree_.crisp()
    found = wine_page.run("return softwoodReport.page.now.prediction")
    np.testing.assert_allclose(found, crisp.predict(matrix)[0], atol=1e-12)
    wine_page.set("#factor", "2")
    wider = replace(model.tree_, width=2 * model.tree_.width)
    found = wine_page.run("return softwoodReport.page.now.prediction")
    np.testing.assert_allclose(found, wider.predict(matrix)[0], atol=1e-12)
    np.testing.assert_allclose(
        wine_page.run("return softwoodReport.page.now.certificate.radius"),
        certified_radius(wider, matrix).radius[0],
        rtol=1e-5,
    )
    wine_page.set(f".column:has({column_of(X, 'proline')}) .error", "90")
    widths = np.full(matrix.shape, np.nan)
    widths[0, 3] = 90.0
    found = wine_page.run("return softwoodReport.page.now.prediction")
    np.testing.assert_allclose(found, wider.predict(matrix, widths=widths)[0], atol=1e-12)


def test_names_are_text_on_the_page(wine, wine_page):
    X, _, _ = wine
    assert EVIL in X.columns
    assert wine_page.run("return document.querySelectorAll('b').length") == 0
    names = wine_page.run("return Array.from(document.querySelectorAll('.bars .label'), (x) => x.textContent)")
    assert EVIL in names


def visible(page):
    return page.run("return softwoodReport.flow.items.map(({ node, isOpen, share }) => [node, isOpen, share])")


def test_folding(wine, wine_page):
    _, _, model = wine
    tree = model.tree_
    wine_page.set("#mode", "mass", "change")
    wine_page.set("#least", "0")
    assert len(visible(wine_page)) == tree.n_nodes
    assert wine_page.text("#least-text") == "nothing"
    wine_page.set("#least", "90")
    few = visible(wine_page)
    assert 3 <= len(few) < tree.n_nodes
    # folded nodes are the light ones, and the shares are those of the training mass
    least = wine_page.run("return softwoodReport.page.state.least")
    for node, is_open, share in few:
        assert share == pytest.approx(tree.mass[node] / tree.mass[0], rel=1e-6)
        assert is_open == ((share >= least or node == 0) and tree.children_left[node] >= 0)
    wine_page.driver.find_element("id", "unfold").click()
    assert len(visible(wine_page)) == tree.n_nodes


def test_folding_by_mouse_and_keys(wine, wine_page):
    tree = wine[2].tree_
    wine_page.set("#mode", "mass", "change")
    wine_page.driver.find_element("id", "unfold").click()
    canvas = wine_page.driver.find_element("id", "flow")
    wine_page.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
    # the bar of the root stands at the left edge, in the middle of its children
    place = wine_page.run("const { top, size } = softwoodReport.flow.items[0]; return top + size / 2 + 14")
    height, width = canvas.size["height"], canvas.size["width"]
    click = ActionChains(wine_page.driver).move_to_element_with_offset(canvas, 18 - width / 2, place - height / 2)
    click.click().perform()
    assert len(visible(wine_page)) == 1
    assert wine_page.text("#node").startswith("Node 0: goes left if ")
    wine_page.driver.execute_script("arguments[0].focus()", canvas)
    ActionChains(wine_page.driver).send_keys(Keys.ENTER).perform()
    assert len(visible(wine_page)) == tree.n_nodes
    ActionChains(wine_page.driver).send_keys(Keys.ARROW_RIGHT, Keys.ENTER).perform()
    assert wine_page.text("#node").startswith(f"Node {tree.children_left[0]}: ")
    ActionChains(wine_page.driver).send_keys("+", "+").perform()
    assert wine_page.run("return softwoodReport.flow.view.zoom") == pytest.approx(1.96)
    drag = ActionChains(wine_page.driver).move_to_element_with_offset(canvas, 200, -150).click_and_hold()
    drag.move_by_offset(-60, 40).release().perform()
    before = wine_page.run("return softwoodReport.flow.view")
    assert before["x"] < 0
    ActionChains(wine_page.driver).send_keys("0").perform()
    assert wine_page.run("return softwoodReport.flow.view") == {"zoom": 1, "x": 0, "y": 0}


def test_searching(wine, wine_page):
    X, _, model = wine
    wine_page.set("#mode", "mass", "change")
    wine_page.driver.find_element("id", "unfold").click()
    wine_page.set("#search", "FLAV")
    wanted = list(X.columns).index("flavanoids")
    expected = np.flatnonzero(model.tree_.feature == wanted)
    found = wine_page.run("return softwoodReport.flow.items.filter((item) => item.matches).map(({ node }) => node)")
    assert sorted(found) == expected.tolist()
    assert wine_page.text("#found").startswith(f"{len(expected)} gates of this tree")
    wine_page.set("#search", "")
    assert wine_page.text("#found") == ""


def background(page):
    shown = page.run("return getComputedStyle(document.body).backgroundColor")
    return np.mean([int(x) for x in re.findall(r"\d+", shown)[:3]])


def test_dark_mode(wine_page):
    driver = wine_page.driver
    for scheme, is_dark in (("dark", True), ("light", False)):
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        wine_page.set("#theme", "auto", "change")
        assert (background(wine_page) < 80) == is_dark
        wine_page.set("#theme", "light" if is_dark else "dark", "change")
        assert (background(wine_page) < 80) != is_dark
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_paper_is_light(wine_page):
    wine_page.set("#theme", "dark", "change")
    assert (
        wine_page.run("window.dispatchEvent(new Event('beforeprint')); return document.documentElement.dataset.theme")
        == "light"
    )
    wine_page.run("window.dispatchEvent(new Event('afterprint')); return null")
    assert background(wine_page) < 80


def test_narrow_and_wide_screens(wine_page):
    driver = wine_page.driver
    for width in (390, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wine_page.finish()
        assert wine_page.run("return document.documentElement.scrollWidth") <= width
        assert wine_page.run("return document.getElementById('flow').clientWidth") > 0.4 * width
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_text_is_that_of_python(wine, wine_page):
    X, _, model = wine
    wine_page.driver.execute_script("document.querySelector('details').open = true")
    wine_page.finish()
    names = [str(name) for name in model.classes_]
    assert wine_page.text("pre") == tree_text(model.tree_, feature_names=list(X.columns), class_names=names)


@pytest.mark.parametrize(
    "name",
    ["tree of all gates", "soft tree", "soft Hoeffding tree", "kernel tree of a frame", "boosting, two classes",
     "boosting, three classes"],
)  # fmt: skip
def test_text_of_all_gates(name, page, tmp_path):
    model = all_fitted()[name]
    known = FittedModel.of(model).one_hot()
    report(model, tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    page.driver.execute_script("document.querySelector('details').open = true")
    page.finish()
    expected = tree_text(
        known.forest[0],
        feature_names=known.columns.names,
        class_names=known.outputs.node_labels(known.trees, 0),
        is_category=known.columns.is_category,
    )
    assert page.text("pre").splitlines() == expected.splitlines()


@pytest.mark.parametrize(
    "name", ["tree of all gates", "kernel tree, box", "soft tree", "soft Hoeffding tree of a frame"]
)
def test_flow(name, page, tmp_path):
    """Bands divide as the shares do, and ends stand below one another."""
    report(all_fitted()[name], tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    for mode in ("row", "mass"):
        page.set("#mode", mode, "change")
        for least in ("0", "60", "100"):
            page.set("#least", least)
            items = page.run(
                "return softwoodReport.flow.items.map(({ node, share, size, top, depth, isOpen, children }) => "
                "({ node, share, size, top, depth, isOpen, children: children.map((child) => child.node) }))"
            )
            by_node = {item["node"]: item for item in items}
            assert by_node[0]["share"] == 1
            for item in items:
                children = [by_node[child] for child in item["children"]]
                assert bool(children) == item["isOpen"]
                if children:
                    assert sum(child["share"] for child in children) == pytest.approx(item["share"])
                    assert sum(child["size"] for child in children) == pytest.approx(item["size"])
                    assert {child["depth"] for child in children} == {item["depth"] + 1}
            ends = [item for item in items if not item["children"]]
            assert sum(item["share"] for item in ends) == pytest.approx(1)
            for above, below in pairwise(ends):
                assert above["top"] + above["size"] <= below["top"] + 1e-9


def test_model_section(wine, wine_page):
    X, y, model = wine
    cells = wine_page.run(
        "return Array.from(document.querySelectorAll('.confusion td'), (cell) => Number(cell.textContent))"
    )
    predicted = model.predict(X)
    expected = [[int(np.sum((y == a) & (predicted == b))) for b in model.classes_] for a in model.classes_]
    assert np.reshape(cells, (3, 3)).tolist() == expected
    assert f"{model.score(X, y):.4g}" in wine_page.text("#model-cards")
    leaves = wine_page.run("return document.querySelectorAll('.leaves tbody tr').length")
    assert leaves == model.get_n_leaves()


def test_categories(page, tmp_path):
    model = fitted_to_frames()["kernel tree of a frame"]
    table = frame(100)
    report(model, tmp_path / "page.html", X=table, y=np.digitize(frame_targets(table), [1.0, 2.0]))
    page.open(tmp_path / "page.html")
    city = list(table.columns).index("city")
    for number, name in enumerate(model.columns_.categories[city]):
        page.set(f"#column-{city}", str(number), "change")
        cells = page.run("return softwoodReport.page.now.cells")
        assert cells[city] == name
        row = pd.DataFrame([cells], columns=table.columns).astype(table.dtypes)
        np.testing.assert_allclose(
            page.run("return softwoodReport.page.now.prediction"), model.predict_proba(row)[0], atol=1e-12
        )


def test_one_tree_of_a_forest_at_a_time(page, tmp_path):
    model = fitted()["kernel forest"]
    X = np.nan_to_num(numbers(50))
    report(model, tmp_path / "page.html", X=X, y=labels(X))
    page.open(tmp_path / "page.html")
    page.set("#least", "0")
    cells = np.array([page.run("return softwoodReport.page.now.cells")], dtype=float)
    np.testing.assert_allclose(page.run("return softwoodReport.page.now.prediction"), model.predict_proba(cells)[0])
    for number in (0, 3):
        page.set("#tree", str(number))
        shares = model.forest_[number].memberships(cells).toarray()[0]
        found = {node: share for node, _, share in visible(page)}
        assert found == pytest.approx({int(node): shares[node] for node in np.flatnonzero(shares)})
        assert f"tree {number}" in page.text("#path-note")


def test_outputs_can_be_chosen(wine, wine_page):
    _, _, model = wine
    for k, name in enumerate(model.classes_):
        wine_page.set("#output", str(k), "change")
        assert wine_page.text("#shapley-title") == f"Shapley values of {name}"


def test_snapshots_of_a_stream(page, tmp_path):
    X = numbers(3000)
    model = stream.SoftHoeffdingTreeClassifier(random_state=0, grace_period=50, tau=0.1)
    history = stream.adaptation(model, (X, labels(X)), window=500, snapshots=[1000, 2000], classes=np.unique(labels(X)))
    report(model, tmp_path / "page.html", history=history)
    page.open(tmp_path / "page.html")
    cells = page.run("return softwoodReport.page.now.cells")
    for place, n_rows in enumerate((1000, 2000)):
        page.set("#snapshot", str(place))
        expected = history.snapshots[n_rows].predict(np.array([cells], dtype=float))[0]
        np.testing.assert_allclose(page.run("return softwoodReport.page.now.prediction"), expected, atol=1e-12)
    page.set("#snapshot", "2")
    expected = model.predict_proba(np.array([cells], dtype=float))[0]
    np.testing.assert_allclose(page.run("return softwoodReport.page.now.prediction"), expected, atol=1e-12)
    assert page.text("#stream-cards caption").endswith("entries")


def test_a_notebook_runs_the_page_in_its_sandbox(wine, driver, tmp_path):
    X, y, model = wine
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html>{report(model, X=X, y=y)._repr_html_()}", encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())
    driver.switch_to.frame(0)
    assert driver.execute_script("return document.documentElement.hasAttribute('data-ready')")
    driver.switch_to.default_content()
    assert driver.get_log("browser") == []


def test_the_class_of_a_single_score_is_named(page, tmp_path):
    """Two classes share one score: what is said of the first class has the opposite sign."""
    model = all_fitted()["boosting, two classes"]
    report(model, tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    first, second = map(str, model.classes_)
    row = page.run("return Array.from(softwoodReport.page.now.point)")
    found = shapley_values(model, np.array([row], dtype=float))
    probabilities = model.predict_proba(np.array([row], dtype=float))[0]
    for k, sign in ((0, -1.0), (1, 1.0)):
        page.set("#output", str(k), "change")
        name = (first, second)[k]
        assert page.text("#shapley-title") == f"Shapley values of {name}"
        shown = [text.replace("−", "-") for text in page.run(
            "return Array.from(document.querySelectorAll('#shapley .number'), (e) => e.textContent)"
        )]  # fmt: skip
        sizes = sorted(found.values[0, :, 0], key=lambda value: -abs(value))
        assert np.array(shown, dtype=float) == pytest.approx(sign * np.array(sizes), abs=0.006)
        note = page.text("#shapley-note").replace("−", "-")
        total = float(re.search(r", to (\S+), a raw score \(log odds\)", note)[1])
        assert total == pytest.approx(sign * found.prediction[0, 0], rel=1e-3)
        assert f"the probability of {name} is " in note
        assert np.sign(total) == np.sign(probabilities[k] - 0.5)
    assert page.text("#legend").startswith(f"score of {second}: ")
    assert f"score of {second}: " in page.text("#path-note")
    assert "Slopes are those of the raw score (log odds)" in page.text("#certificate-note")
