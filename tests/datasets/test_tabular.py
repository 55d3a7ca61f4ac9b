import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from softwood.datasets import available, load_dataset, tabular

MANIFEST = """\
name,task,rows,features,classes,source,notes
fruit,classification,4,3,2,an orchard,"picked, then weighed"
rings,regression,3,1,,a forest,
lost,classification,1,1,2,nowhere,
"""
FRUIT = """\
weight,colour,size,target
1.5,red,3,apple
,green,4,pear
2.5,NA,5,apple
3.5,,6,pear
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "MANIFEST.csv").write_text(MANIFEST)
    write(tmp_path, "fruit", FRUIT)
    write(tmp_path, "rings", "width,target\n1,15\n2,7\n3,9\n")
    monkeypatch.setenv("SOFTWOOD_DATA", str(tmp_path))
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_classification_from_a_file(folder):
    fruit = load_dataset("fruit")
    assert fruit.task == "classification"
    assert fruit.feature_names == list(fruit.X.columns) == ["weight", "colour", "size"]
    assert fruit.y.tolist() == ["apple", "pear", "apple", "pear"]
    assert fruit.y.dtype.kind == "U"
    assert "orchard" in fruit.description
    assert "picked, then weighed" in fruit.description


def test_only_an_empty_cell_is_missing(folder):
    X = load_dataset("fruit").X
    assert X["weight"].isna().tolist() == [False, True, False, False]
    assert isinstance(X["colour"].dtype, pd.CategoricalDtype)
    assert X["colour"].isna().tolist() == [False, False, False, True]
    assert set(X["colour"].cat.categories) == {"red", "green", "NA"}


def test_the_manifest_makes_whole_numbers_a_regression(folder):
    rings = load_dataset("rings")
    assert rings.task == "regression"
    assert rings.y.dtype == np.float64
    np.testing.assert_array_equal(rings.y, [15, 7, 9])


@pytest.mark.parametrize(
    ("targets", "task", "kind"),
    [
        (["1.5", "2", "3"], "regression", "f"),
        (["1", "2", "1"], "classification", "i"),
        (["1.0", "2.0", "1.0"], "classification", "f"),
        (["a", "b", "a"], "classification", "U"),
        (["True", "False", "True"], "classification", "b"),
    ],
)
def test_task_of_a_set_that_is_not_listed(folder, targets, task, kind):
    write(folder, "own", "x,target\n" + "".join(f"0,{target}\n" for target in targets))
    own = load_dataset("own")
    assert own.task == task
    assert own.y.dtype.kind == kind


def test_a_folder_without_a_manifest(folder):
    (folder / "MANIFEST.csv").unlink()
    assert load_dataset("fruit").task == "classification"
    assert "fruit.csv.gz" in load_dataset("fruit").description


def test_available_lists_the_files(folder):
    assert available() == ["fruit", "rings"]


def test_unknown_name_lists_near_names(folder):
    with pytest.raises(ValueError, match=r"No data set 'friut' in .*Near names: fruit\."):
        load_dataset("friut")
    with pytest.raises(ValueError, match=r"There are: fruit, lost, rings\."):
        load_dataset("zzz")
    with pytest.raises(ValueError, match=r"No data set '\.\./fruit'"):
        load_dataset("../fruit")


def test_missing_file_is_named(folder):
    with pytest.raises(FileNotFoundError, match=r"'lost' is listed in .*MANIFEST\.csv, but .*lost\.csv\.gz is missing"):
        load_dataset("lost")


def test_missing_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTWOOD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"SOFTWOOD_DATA must name a folder.*nowhere"):
        load_dataset("iris")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-12])


def not_zipped(path: Path) -> None:
    path.write_text(FRUIT)


def garbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[20:40] = bytes(20)
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(gzip.compress(b""))


def not_text(path: Path) -> None:
    path.write_bytes(gzip.compress(b"\xff\xfe\x00target\n\x81,1\n"))


def ragged(path: Path) -> None:
    path.write_bytes(gzip.compress(b"x,target\n1,2\n1,2,3\n"))


@pytest.mark.parametrize("damage", [truncated, not_zipped, garbled, empty, not_text, ragged])
def test_damaged_file_is_named(folder, damage):
    damage(folder / "fruit.csv.gz")
    with pytest.raises(ValueError, match=r"fruit\.csv\.gz must be a gzipped CSV file"):
        load_dataset("fruit")


def test_rows_are_counted(folder):
    write(folder, "fruit", FRUIT.rsplit("\n", 2)[0] + "\n")
    with pytest.raises(ValueError, match=r"fruit\.csv\.gz must have 4 rows, as MANIFEST\.csv says\. Got 3\."):
        load_dataset("fruit")


def test_target_column_is_required_and_complete(folder):
    write(folder, "own", "x,y\n1,2\n")
    with pytest.raises(ValueError, match=r"own\.csv\.gz must have a column 'target'\. Got the columns x, y\."):
        load_dataset("own")
    write(folder, "own", "x,target\n1,2\n1,\n")
    with pytest.raises(ValueError, match=r"Column 'target' of .*own\.csv\.gz must be complete\. Got 1 missing"):
        load_dataset("own")


def test_manifest_errors_name_the_file(folder):
    (folder / "MANIFEST.csv").write_text("title,task\nfruit,classification\n")
    with pytest.raises(ValueError, match=r"MANIFEST\.csv must have the columns name and task\. Missing: name\."):
        load_dataset("fruit")
    (folder / "MANIFEST.csv").write_text("name,task\nfruit,ranking\n")
    with pytest.raises(ValueError, match=r"Task of 'fruit' in .*MANIFEST\.csv must be .*Got 'ranking'"):
        load_dataset("fruit")


def test_without_pandas_the_command_is_given(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load_dataset("fruit")


@pytest.fixture
def openml(monkeypatch):
    """Answer in the place of OpenML, and note what was asked for."""
    asked = []

    def fetch(*, data_id, as_frame):
        assert as_frame
        asked.append(data_id)
        target = pd.Series(["15", "7"] if data_id == 183 else ["b", "a"], dtype="category")
        return Bunch(data=pd.DataFrame({"x": [1.0, 2.0], "sex": ["F", "M"]}), target=target)

    monkeypatch.delenv("SOFTWOOD_DATA", raising=False)
    monkeypatch.setattr(tabular, "fetch_openml", fetch)
    return asked


def test_classification_from_openml(openml):
    iris = load_dataset("iris")
    assert openml == [61]
    assert iris.y.tolist() == ["b", "a"]
    assert iris.description == "OpenML 61"
    assert isinstance(iris.X["sex"].dtype, pd.CategoricalDtype)


def test_regression_from_openml_turns_categories_into_numbers(openml):
    abalone = load_dataset("abalone")
    assert abalone.task == "regression"
    np.testing.assert_array_equal(abalone.y, [15.0, 7.0])


def test_openml_says_what_differs(openml):
    assert "210-row" in load_dataset("image_segmentation_train").description


def test_every_openml_name_loads(openml):
    for name in available():
        if tabular._OPENML[name].task == "classification":
            assert load_dataset(name).name == name
    assert len(openml) == len(set(openml))


def test_the_sets_of_the_kernel_tree_paper_are_on_openml(openml):
    paper = (
        "glass image_segmentation_train ionosphere iris letter optdigits pendigits satimage sonar spambase wine yeast"
    )
    assert set(paper.split()) <= set(available())


def test_unknown_openml_name(openml):
    with pytest.raises(ValueError, match=r"No data set 'irs'.*SOFTWOOD_DATA.*Near names: iris"):
        load_dataset("irs")


def test_offline_says_how_to_go_on(openml, monkeypatch):
    def fetch(**_):
        raise OSError("no route to host")

    monkeypatch.setattr(tabular, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"'iris' \(number 61\) .*no route to host.*SOFTWOOD_DATA.*iris\.csv\.gz"):
        load_dataset("iris")
