"""What is saved comes back: the same bits, in this process and in another, for every kind of model."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from river import naive_bayes
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold

import softwood
from softwood import stream
from softwood.files.errors import InvalidFileError, NotSavableError
from softwood.files.kinds import KINDS
from softwood.stream.river import ModelPoolClassifier
from tests.callbacks import Recorder, require_callbacks
from tests.contract.specs import BY_NAME, SPECS
from tests.files.models import NAMES, answers, dicts, fitted, frame, learn_on, river_targets, signal_of
from tests.models import answer

ROOT = Path(__file__).parents[2]
every_kind = pytest.mark.parametrize("name", NAMES)
every = pytest.mark.parametrize("spec", SPECS, ids=str)
classifiers = pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.is_classifier], ids=str)


def again(model, folder):
    """The model, saved and loaded; what is loaded and saved once more has the same bytes."""
    path = folder / "model.softwood"
    softwood.save(model, path)
    loaded = softwood.load(path)
    before = path.read_bytes()
    softwood.save(loaded, path)
    assert path.read_bytes() == before
    assert os.listdir(folder) == ["model.softwood"]
    assert type(loaded) is type(model)
    return loaded


def assert_same(one, other):
    """All attributes, with their types, to the last bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "O":
            for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True):
                assert_same(a, b)
        else:
            assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state())
    elif hasattr(one, "__dict__") and not isinstance(one, type) and not callable(one):
        made = (
            "_arguments", "_gates", "_only_boxes", "_height", "_tests", "_crisp_thresholds", "is_crisp", "_is_sigmoid",
            "_readers", "_one", "_learned", "_asked", "_take_all", "_n_taken",
            "_set_features", "_sigmoid_gates", "cdf", "lock", "_lock", "_has_warned", "_category_columns", "_bounds",
        )  # fmt: skip
        kept = [{k: v for k, v in vars(x).items() if k not in made} for x in (one, other)]
        scratch = ("events", "places", "shares") if hasattr(one, "scratch") else ()
        assert set(kept[0]) == set(kept[1])
        for key, value in kept[0].items():
            if key == "arrays" and scratch:
                for array in value:
                    if array not in one.scratch:
                        assert_same(value[array], kept[1][key][array])
            else:
                assert_same(value, kept[1][key])
    else:
        assert one == other or (one != one and other != other)


# ------------------------------------------------------------------ every kind


@every_kind
def test_every_kind_comes_back_to_the_last_bit(name, tmp_path):
    model = fitted(name)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(answers(loaded), answers(model))
    assert_same(model, loaded)


@pytest.mark.parametrize("name", [name for name in NAMES if "." in name or "pool" in name])
def test_streams_go_on_bit_for_bit(name, tmp_path):
    model = fitted(name)
    loaded, expected = learn_on(again(model, tmp_path)), learn_on(model)
    assert_same(expected, loaded)
    np.testing.assert_array_equal(answers(loaded), answers(expected))


@every
def test_estimators_that_are_not_fitted(spec, tmp_path):
    loaded = again(spec.make(), tmp_path)
    assert_same(spec.make(), loaded)
    X, y = spec.table()
    np.testing.assert_array_equal(answer(loaded.fit(X, y), X), answer(spec.fitted(), X))


def test_trees_with_numbers_of_numpy(tmp_path):
    tree = replace(fitted("SoftTree"), n_features=np.int64(4))
    assert_same(tree, again(tree, tmp_path))


def test_every_public_estimator_is_a_kind():
    public = [(softwood, name) for name in softwood.__all__] + [(stream, name) for name in stream.__all__]
    known = {kind.class_name for kind in KINDS.by_name.values()}
    estimators = {name for home, name in public if hasattr(getattr(home, name), "get_params")}
    assert estimators - {"DriftDetector"} <= known  # which is what the detectors share
    assert {spec.name for spec in SPECS} <= known


# ------------------------------------------------------------------ tables and labels


@every
def test_frames_with_text_categories_and_missing_values(spec, tmp_path):
    table = frame()
    model = spec.make().fit(table, spec.targets(signal_of(table)))
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    rows = frame(seed=1)
    rows.loc[:3, "Straße"] = "nowhere"
    np.testing.assert_array_equal(answer(loaded, rows), answer(model, rows))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(rows.rename(columns={"size": "length"}))
    if spec.is_stream:
        y = spec.targets(signal_of(rows))
        assert_same(model.partial_fit(rows, y), loaded.partial_fit(rows, y))


LABELS = {
    "text": np.array(["x", "yy", "zzz"]),
    "text as objects": np.array(["x", "yy", "ä"], dtype=object),
    "truth values": np.array([True, False, True]),
    "small integers": np.array([3, 1, 2], dtype=np.int8),
    "large integers": np.array([2**63, 1, 2**64 - 1], dtype=np.uint64),
    "floats": np.array([2.0, 0.0, 1.0], dtype=np.float32),
}


@classifiers
@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_types(spec, kind, tmp_path):
    X, y = spec.table()
    labels = LABELS[kind][np.unique(y, return_inverse=True)[1]]
    model = spec.make().fit(X, labels)
    loaded = again(model, tmp_path)
    assert_same(model.classes_, loaded.classes_)
    assert_same(model.predict(X), loaded.predict(X))


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.is_stream and spec.is_classifier], ids=str)
def test_mixed_labels(spec, tmp_path):
    """`fit` of scikit-learn takes none, and neither do trees that are not on streams."""
    labels = np.array([False, 2.5, 7], dtype=object)
    X, y = spec.table()
    y = labels[np.unique(y, return_inverse=True)[1]]
    model = spec.make().partial_fit(X, y, classes=labels)
    loaded = again(model, tmp_path)
    assert_same(model.partial_fit(X, y), loaded.partial_fit(X, y))
    assert_same(model.predict(X), loaded.predict(X))


@every
def test_several_outputs_and_fuzzy_labels(spec, tmp_path):
    X, _ = spec.table()
    if spec.is_classifier:
        y = pd.DataFrame(np.random.default_rng(0).dirichlet([1, 2, 3], len(X)), columns=["u", "v", "w"])
    else:
        y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    try:
        model = spec.make().fit(X, y)
    except ValueError:  # boosting and streams have one target
        return
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert answer(loaded, X).shape == (len(X), 3 if spec.is_classifier else 2)


@every
def test_parameters_keep_their_types(spec, tmp_path):
    values = {
        "random_state": np.int64(3), "class_weight": {"ant": 2.0, "bee": np.float32(1.5)}, "n_jobs": np.int64(1),
        "categorical_features": np.array([1]), "max_depth": 3, "warm_start": True, "oob_score": True,
    }  # fmt: skip
    if "n_estimators" in spec.parameters:
        values |= {"n_estimators": 40, "bootstrap": True}
    if spec.is_kernel:
        values |= {
            "bandwidth": [0.1, 0.0, 0.2, 0.3],
            "measurement_error": {2: 0.5},
            "prediction_kernel": {0: "triangle"},
        }
    given = {name: value for name, value in values.items() if name in spec.parameters}
    X, y = spec.table()
    X[:, 1] = np.round(X[:, 1])
    model = spec.make(**given).fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    np.testing.assert_array_equal(answer(loaded, X), answer(model, X))


def test_drawn_random_states_go_on(tmp_path):
    X, y = BY_NAME["SoftHoeffdingTreeClassifier"].table()
    for make in (stream.SoftHoeffdingTreeClassifier, softwood.KernelForestClassifier):
        model = make(random_state=np.random.RandomState(5)).fit(X, y)
        loaded = again(model, tmp_path)
        np.testing.assert_array_equal(answer(loaded.fit(X, y), X), answer(model.fit(X, y), X))


@pytest.mark.parametrize("name", ["KernelForestRegressor", "KernelExtraTreesClassifier", "OneStageTreeRegressor"])
def test_warm_starts_go_on(name, tmp_path):
    spec = BY_NAME[name]
    X, y = spec.table()
    more = {"n_estimators": 7} if "n_estimators" in spec.parameters else {"max_iter": 12}
    model = spec.make(warm_start=True).fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model.set_params(**more).fit(X, y), loaded.set_params(**more).fit(X, y))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "quantile"])
def test_losses(loss, tmp_path):
    X, y = BY_NAME["KernelBoostingRegressor"].table()
    model = softwood.KernelBoostingRegressor(loss=loss, max_iter=3, quantile=0.9 if loss == "quantile" else None)
    assert_same(model.fit(X, np.abs(y)), again(model, tmp_path))


@pytest.mark.parametrize("size", [1e300, 1e160, 1e-160, 1e-308])
@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.is_stream], ids=str)
def test_streams_of_huge_and_tiny_numbers(spec, size, tmp_path):
    X, y = spec.table(400)
    model = spec.make().fit(X * size, y if spec.is_classifier else y * size)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model.partial_fit(X, y), loaded.partial_fit(X, y))


@pytest.mark.parametrize("options", [{"max_size": 0.1}, {"max_inner_nodes": 2}, {"max_inner_nodes": 0}])
@pytest.mark.parametrize("family", ["HoeffdingTree", "SoftHoeffdingTree"])
@pytest.mark.parametrize("side", ["Classifier", "Regressor"])
def test_streams_within_limits(family, side, options, tmp_path):
    spec = BY_NAME[family + side]
    table = frame(600)
    y = spec.targets(signal_of(table))
    model = spec.make(grace_period=10, **options).fit(table[:300], y[:300])
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    loaded.set_params(max_size=1e-3)  # parameters that are changed in mid-stream do not touch the tree that grows
    assert_same(loaded.growth_, again(loaded, tmp_path).growth_)
    assert_same(model.partial_fit(table[300:], y[300:]).growth_, loaded.partial_fit(table[300:], y[300:]).growth_)


def test_models_of_river_with_labels_of_all_types(tmp_path):
    name = "river.SoftHoeffdingTreeClassifier"
    loaded = again(fitted(name), tmp_path)
    x = dicts(1)[0]
    assert loaded.predict_proba_one(x) == fitted(name).predict_proba_one(x)
    assert [type(label) for label in loaded._codes] == [type(label) for label in fitted(name)._codes]
    unlearned = again(fitted(name).clone(), tmp_path)
    for row, y in zip(dicts(40), river_targets(unlearned, dicts(40)), strict=True):
        unlearned.learn_one(row, y)
    assert unlearned.n_nodes >= 1


def test_pools_of_models_that_are_not_softwoods(tmp_path):
    pool = ModelPoolClassifier([naive_bayes.GaussianNB()])
    with pytest.raises(NotSavableError, match=r"models.*GaussianNB"):
        softwood.save(pool, tmp_path / "pool.softwood")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------ another process

_OTHER = """
import pickle, sys
sys.path.insert(0, {root!r})
import numpy as np, softwood
from tests.files.models import answers, frame, learn_on
from sklearn.base import is_classifier
out = {{}}
for name, path in pickle.load(sys.stdin.buffer).items():
    model = softwood.load(path)
    if name.startswith("frame "):
        table = frame(seed=1)
        out[name] = (model.predict_proba if is_classifier(model) else model.predict)(table)
    else:
        out[name] = answers(model), answers(learn_on(model))
sys.stdout.buffer.write(pickle.dumps(out))
"""


def test_another_process_with_another_hash_seed(tmp_path):
    paths, expected = {}, {}
    for name in NAMES:
        model = fitted(name)
        paths[name] = str(tmp_path / f"{len(paths)}.softwood")
        softwood.save(model, paths[name])
        expected[name] = answers(model), answers(learn_on(model))
    table = frame()
    for spec in SPECS:
        if spec.is_kernel or spec.is_stream:
            model = spec.make().fit(table, spec.targets(signal_of(table)))
            paths[f"frame {spec.name}"] = str(tmp_path / f"{len(paths)}.softwood")
            softwood.save(model, paths[f"frame {spec.name}"])
            expected[f"frame {spec.name}"] = answer(model, frame(seed=1))
    run = subprocess.run(
        [sys.executable, "-c", _OTHER.format(root=str(ROOT))], input=pickle.dumps(paths), capture_output=True,
        env=os.environ | {"PYTHONHASHSEED": "12345"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    found = pickle.loads(run.stdout)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert_same(value, found[name])


def test_the_bytes_do_not_depend_on_the_process(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import softwood\n"
        "from tests.files.models import frame, signal_of\n"
        "table = frame()\n"
        "model = softwood.KernelForestClassifier(n_estimators=3, random_state=0).fit(table, signal_of(table) > 0)\n"
        "softwood.save(model, sys.argv[1])"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)], check=True, env=os.environ | {"PYTHONHASHSEED": seed}
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


# ------------------------------------------------------------------ what cannot be saved


class Own(softwood.KernelTreeClassifier):
    """A class that files do not know."""


def _refused():
    X, y = BY_NAME["KernelTreeClassifier"].table()
    make = softwood.KernelTreeClassifier
    scaled = softwood.Kernel([-1.0, 1.0], [1.0], scale=lambda x: 1 + np.abs(x))
    noted = make(bandwidth=0.1).fit(X, y)
    noted.note = "good"
    dates = pd.DataFrame({"day": pd.Categorical(pd.date_range("2020-01-01", periods=3).date.repeat(len(X) // 3))})
    forest = softwood.KernelForestClassifier(n_estimators=40, random_state=0, bandwidth=0.1)
    return {
        "kernel": (make(kernel={0: scaled}).fit(X, y), r"Classifier cannot be saved: kernel\[0\]\.scale is the fun"),
        "reading": (make(kernel=scaled).fit(X, y).set_params(kernel="box"), r"_reading_\.kernels\[0\]\.scale is"),
        "error": (make(measurement_error={1: np.abs}).fit(X, y), r"measurement_error\[1\] is the function absolute"),
        "score": (forest.set_params(oob_score=accuracy_score).fit(X, y), r"set_params\(oob_score="),
        "splitter": (make(cv=KFold(3), bandwidth="cv").fit(X, y), r"cv is an object of KFold, .* set_params\(cv="),
        "attribute": (noted, "files do not hold the attribute 'note'"),
        "dates": (make(bandwidth=0.1).fit(dates[: len(y)], y), r"categories\[0\]\[0\] is an object of date"),
        "class": (make(random_state=int), "random_state is the class int"),
        "own class": (Own(), "save takes estimators, stream models, detectors, trees and forests of softwood, not Own"),
        "other": (LogisticRegression(), "not LogisticRegression"),
        "number": (3, "not int"),
        "record": (noted.columns_, "not Columns"),
        "complex": (make(bandwidth=np.array([1j])), "bandwidth is an array of type complex128"),
        "pool": (stream.ModelPool([make()]), "models is list, expected list.*StreamModel"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def refused():
    return _refused()


@pytest.mark.parametrize("what", [
    "kernel", "reading", "error", "score", "splitter", "attribute", "dates", "class", "own class", "other",
    "number", "record", "complex", "pool",
])  # fmt: skip
def test_what_cannot_be_saved_is_named(what, refused, tmp_path):
    model, message = refused[what]
    with pytest.raises(NotSavableError, match=message):
        softwood.save(model, tmp_path / "model.softwood")
    assert os.listdir(tmp_path) == []


def test_callbacks_are_not_saved(tmp_path):
    require_callbacks()
    model = softwood.KernelTreeClassifier()
    with pytest.raises(NotSavableError, match=r"callbacks; remove them with set_callbacks\(\)"):
        softwood.save(model.set_callbacks(Recorder()), tmp_path / "model.softwood")
    assert os.listdir(tmp_path) == []
    softwood.save(model.set_callbacks(), tmp_path / "model.softwood")


def test_the_advice_of_a_message_works(refused, tmp_path):
    X, _ = BY_NAME["KernelTreeClassifier"].table()
    model = clone(refused["splitter"][0]).set_params(cv=3).fit(*BY_NAME["KernelTreeClassifier"].table())
    expected = answer(model, X)
    np.testing.assert_array_equal(answer(again(model, tmp_path), X), expected)
    model = refused["splitter"][0].set_params(cv=10)
    np.testing.assert_array_equal(answer(again(model, tmp_path), X), answer(model, X))


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    with pytest.raises(FileNotFoundError):
        softwood.load(tmp_path / "nothing.softwood")
    with pytest.raises(IsADirectoryError):
        softwood.load(tmp_path)
    other = tmp_path / "other.pkl"
    other.write_bytes(pickle.dumps(print))
    with pytest.raises(InvalidFileError, match=r"other\.pkl' is no softwood model, or it is damaged"):
        softwood.load(other)


def test_is_classifier_of_a_loaded_pool(tmp_path):
    assert is_classifier(again(fitted("stream.ModelPool"), tmp_path))


# ------------------------------------------------------------------ metadata


def test_metadata(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = softwood.KernelTreeClassifier(bandwidth=0.1).fit(X, y)
    path = tmp_path / "m.softwood"
    metadata = {"target": "Straße", "dropped": ["a", "b"], "rows": 150, "notes": {"is": None, "share": 0.25}}
    softwood.save(model, path, metadata=metadata)
    assert softwood.read_metadata(path) == metadata
    assert np.array_equal(softwood.load(path).predict_proba(X), model.predict_proba(X))
    before = path.read_bytes()
    for wrong in ({1: "a"}, {"a": np.float64}, {"a": np.nan}, {"a": (1, 2)}, {"a": X}, ["a"], "text"):
        with pytest.raises(NotSavableError, match="metadata"):
            softwood.save(model, path, metadata=wrong)
    assert path.read_bytes() == before
    softwood.save(model, path, metadata={})
    assert softwood.read_metadata(path) == {}
    without = path.read_bytes()
    softwood.save(model, path)
    assert path.read_bytes() == without
