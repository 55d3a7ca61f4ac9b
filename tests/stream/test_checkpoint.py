"""Checkpoints: on from where it was, bit for bit; damaged files; writes that are interrupted."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from softwood.stream import ModelPool, checkpoint, load_checkpoint, save_checkpoint
from tests.stream import test_pool as pools
from tests.stream.test_model import (
    ALL,
    CLASSIFIERS,
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    answer,
    assert_same_model,
    assert_same_state,
    learn,
    mixed,
    problem,
    small,
)

every = pytest.mark.parametrize("model_class", ALL)


def saved(model, folder):
    save_checkpoint(model, folder / "model.npz")
    assert [file.name for file in folder.iterdir()] == ["model.npz"]
    return load_checkpoint(folder / "model.npz")


# ------------------------------------------------------------------ on from where it was


@every
@pytest.mark.parametrize("options", [{}, {"batch_size": 7}, {"class_weight": "balanced"}])
def test_models_go_on_bit_for_bit(model_class, options, tmp_path):
    options = {name: value for name, value in options.items() if name in model_class().get_params()}
    X, y = problem(model_class, n=1001)
    model = learn(small(model_class, **options), X[:500], y[:500])
    again = saved(model, tmp_path)
    assert type(again) is model_class
    assert again.get_params() == model.get_params()
    assert_same_model(model, again)
    np.testing.assert_array_equal(model.test_then_train(X[500:], y[500:]), again.test_then_train(X[500:], y[500:]))
    assert_same_model(model, again)
    assert model.log_ == again.log_
    assert_same_model(again, saved(again, tmp_path))


@every
def test_models_that_have_not_learned(model_class, tmp_path):
    X, y = problem(model_class)
    again = saved(small(model_class), tmp_path)
    assert vars(again) == vars(small(model_class))
    assert_same_model(learn(again, X, y), learn(small(model_class), X, y))


@pytest.mark.parametrize("model_class", CLASSIFIERS)
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["x", "yy", "zzz"]),
        np.array(["x", "yy", "z"], dtype=object),
        np.array([True, False, True]),
        np.array([3, 1, 2], dtype=np.int8),
        np.array([2.0, 0.0, 1.0], dtype=np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_types(model_class, labels, tmp_path):
    X, codes = problem(model_class)
    model = small(model_class, class_weight={labels.tolist()[0]: 2.0}).fit(X, labels[codes])
    again = saved(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.class_weight == model.class_weight
    assert_same_model(learn(model, X, labels[codes]), learn(again, X, labels[codes]))
    assert again.predict(X).dtype == model.predict(X).dtype


@every
def test_frames_with_categories(model_class, tmp_path):
    data, signal = mixed()
    y = np.where(signal > 0, "up", "down") if model_class in CLASSIFIERS else signal
    table = pd.DataFrame(data).assign(kind=lambda t: pd.Categorical(np.where(t["size"] > 0, 1, 2)))
    model = learn(small(model_class, categorical_features=["city", "flag", "kind"]), table, y)
    again = saved(model, tmp_path)
    assert again.feature_names_in_.tolist() == ["size", "city", "flag", "kind"]
    new = table.assign(city="Bern")
    np.testing.assert_array_equal(answer(model, new), answer(again, new))
    assert_same_model(learn(model, new, y), learn(again, new, y))
    assert again.columns_.names[-1] == "city=Bern"


@every
def test_parameters_of_numpy(model_class, tmp_path):
    X, y = problem(model_class)
    X[:, 2] = np.round(X[:, 2])
    model = learn(small(model_class, categorical_features=np.array([2])), X, y)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(answer(model, X), answer(again, X))
    if "random_state" in model.get_params():
        drawn = learn(small(model_class, random_state=np.random.RandomState(0)), X, y)
        again = saved(drawn, tmp_path)
        assert again.random_state is None
        np.testing.assert_array_equal(answer(learn(drawn, X, y), X), answer(learn(again, X, y), X))


@pytest.mark.parametrize("make", [pools.make_pool, pools.real_pool])
def test_pools_go_on_bit_for_bit(make, tmp_path):
    X, y = problem(HoeffdingTreeClassifier, n=900)
    classes = {"classes": np.unique(y)} if is_classifier(make()) else {}
    empty = saved(make(), tmp_path)
    assert not hasattr(empty, "models_")
    for n in (10, 333):  # some models have not learned yet after ten rows
        pool = make().partial_fit(X[:n], y[:n], **classes)
        again = saved(pool, tmp_path)
        assert isinstance(again, ModelPool)
        np.testing.assert_array_equal(pool.test_then_train(X[n:], y[n:]), again.test_then_train(X[n:], y[n:]))
        assert_same_state(pools.pool_state(pool), pools.pool_state(again))
    fitted = ModelPool([pool.models_[0]], period=7)  # models are cloned, whatever they have learned
    assert saved(fitted, tmp_path).period == 7


@pytest.mark.parametrize("name", [model_class.__name__ for model_class in ALL])
def test_models_of_river_go_on_bit_for_bit(name, tmp_path):
    pytest.importorskip("river")
    from softwood.stream import river
    from tests.stream.test_river import answer, assert_same, small, targets

    model_class = getattr(river, name)
    rng = np.random.default_rng(0)
    signal = rng.normal(size=600)
    y = targets(model_class, signal)
    model = small(model_class)
    assert_same(model, saved(model, tmp_path))
    again = None
    for i in range(600):
        x = {"size": signal[i] + rng.normal(), 7: i % 5, "town": "abc"[i % 3], "flag": bool(i % 2)}
        if i > 400:
            x["late"], y[i] = float(i % 11), "new" if name.endswith("Classifier") and i % 4 == 0 else y[i]
        model.learn_one(x, y[i])
        if i == 299:
            again = saved(model, tmp_path)
            assert type(again) is model_class
            assert again._get_params() == model._get_params()
            assert_same(model, again)
        elif again is not None:
            again.learn_one(x, y[i])
    assert_same(model, again)
    assert answer(model, x) == answer(again, x)
    assert again.log == model.log


# ------------------------------------------------------------------ what cannot be saved


def test_what_cannot_be_saved(tmp_path):
    class Own(HoeffdingTreeClassifier):
        pass

    X, y = problem(HoeffdingTreeClassifier)
    dates = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")[y]
    dated = learn(HoeffdingTreeClassifier(), X, dates)
    for model, message in (
        (3, "save_checkpoint takes stream models of softwood, not int"),
        (Own(), "save_checkpoint takes stream models of softwood, not Own"),
        (dated, "cannot hold the name or label datetime.date"),
        (HoeffdingTreeClassifier(tau=object()), "HoeffdingTreeClassifier has a parameter or label that a checkpoint"),
    ):
        with pytest.raises(ValueError, match=message):
            save_checkpoint(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        save_checkpoint(HoeffdingTreeClassifier(), tmp_path / "nowhere" / "model.npz")
    with pytest.raises(OSError, match="directory"):
        save_checkpoint(HoeffdingTreeClassifier(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(error, tmp_path, monkeypatch):
    X, y = problem(HoeffdingTreeClassifier)
    path = tmp_path / "model.npz"
    model = learn(HoeffdingTreeClassifier(), X, y)
    save_checkpoint(model, path)
    before = path.read_bytes()

    def write_a_part(file, **arrays):
        file.write(b"PK")
        raise error

    monkeypatch.setattr(checkpoint.np, "savez", write_a_part)
    with pytest.raises(type(error)):
        save_checkpoint(learn(model, X, y), path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]
    assert path.read_bytes() == before


# ------------------------------------------------------------------ damaged files


@pytest.fixture(params=[HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier, SmoothStepTreeClassifier])
def file(request, tmp_path):
    X, y = problem(request.param, n=500)
    path = tmp_path / "model.npz"
    save_checkpoint(learn(small(request.param), X, y), path)
    return path


def refused(path):
    with pytest.raises(ValueError, match=r"model\.npz' is no softwood checkpoint, or it is damaged: "):
        load_checkpoint(path)


def test_files_of_another_kind(file):
    whole = file.read_bytes()
    for length in (0, 1, 4, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        file.write_bytes(whole[:length])
        refused(file)
    array, other = io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(3))
    np.savez(other, a=np.arange(3))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("header.npy", "text")
    pickled = pickle.dumps(print)
    for content in (b"text", pickled, array.getvalue(), other.getvalue(), zipped.getvalue(), b"\0" * 1000):
        file.write_bytes(content)
        refused(file)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        load_checkpoint(file)
    file.mkdir()
    refused(file)


def test_every_byte_may_be_wrong(file):
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=8):
            damaged[at] ^= int(rng.integers(1, 256))
        file.write_bytes(damaged)
        try:
            load_checkpoint(file)  # some bytes mean nothing, such as dates of files in the archive
        except ValueError:
            n_refused += 1
    assert n_refused > 50


def rewrite(path, change):
    with np.load(path) as found:
        arrays = {name: found[name] for name in found.files}
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


def set_header(**values):
    return lambda header, arrays: header.update(values)


def set_model(**values):
    return lambda header, arrays: header["model"].update(values)


def set_array(name, index, value):
    def change(header, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return change


WRONG = {
    "format": set_header(format="another"),
    "version": set_header(version=99),
    "no version": lambda header, arrays: header.pop("version"),
    "no model": lambda header, arrays: header.pop("model"),
    "kind": set_model(kind="code"),
    "class": set_model(**{"class": "ModelPool.__init__"}),
    "not a model": set_model(**{"class": "SEA"}),
    "parameters": set_model(parameters={"no_such": 1}),
    "wrong parameter": lambda header, arrays: header["model"]["parameters"].update(
        {"max_depth": -1} if "max_depth" in header["model"]["parameters"] else {"tau": -1}
    ),
    "fewer features": lambda header, arrays: header["model"]["growth"].update(n_features=2),
    "more classes": lambda header, arrays: header["model"]["growth"].update(n_outputs=9),
    "missing array": lambda header, arrays: arrays.pop("nodes"),
    "array not listed": lambda header, arrays: header["model"]["growth"]["arrays"].remove("numbers"),
    "shape": lambda header, arrays: arrays.update(numbers=arrays["numbers"][:, :2]),
    "axes": lambda header, arrays: arrays.update(counters=arrays["counters"][None]),
    "fewer nodes": lambda header, arrays: arrays.update(nodes=arrays["nodes"][:1]),
    "settings": lambda header, arrays: arrays.update(settings=arrays["settings"][:3]),
    "text": lambda header, arrays: arrays.update(numbers=np.full(arrays["numbers"].shape, "x")),
    "number of nodes": set_array("counters", 0, 10_000),
    "no nodes": set_array("counters", 0, 0),
    "child": set_array("nodes", (0, 0), 10_000),
    "child of itself": set_array("nodes", (0, 0), 0),
    "feature": set_array("nodes", (0, 3), 77),
    "slot": set_array("nodes", (1, 5), 10_000),
    "another's slot": set_array("nodes", (0, 5), 1),
}  # fmt: skip


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_arrays_that_do_not_fit(file, change):
    rewrite(file, change)
    refused(file)


def test_numbers_of_slots_are_looked_at(tmp_path):
    path = tmp_path / "model.npz"
    X, y = problem(HoeffdingTreeClassifier, n=500)
    for name, index in (("slots", (0, 0)), ("slots", (0, 1)), ("slots", (0, 2)), ("keys", (0, 0)), ("nodes", (0, 6))):
        save_checkpoint(learn(small(HoeffdingTreeClassifier), X, y), path)
        rewrite(path, set_array(name, index, 1_000_000))
        refused(path)
