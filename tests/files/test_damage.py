"""Damaged files of every kind: a named error, or a model that can be used; `mutate.py` tries many more."""

import time
import zlib

import numpy as np
import pytest

import softwood
from softwood.files.errors import InvalidFileError
from softwood.stream.loops.alarms import SIZE
from softwood.stream.loops.drift import A_COUNTS, A_DELTA, A_WIDTH
from softwood.stream.loops.layout import Settings
from tests.files.models import NAMES, fitted
from tests.files.mutate import OF_BYTES, OF_CONTENT, good_files, seal, split, try_file


@pytest.mark.parametrize("name", NAMES)
def test_mutations(name, tmp_path):
    good = good_files(tmp_path, [name])[name]
    path = tmp_path / "mutated.softwood"
    n_refused = n_changed = 0
    key = zlib.crc32(name.encode())
    for number in range(60):
        rng = np.random.default_rng([key, number])
        ways = OF_BYTES if number % 5 == 0 else OF_CONTENT
        mutated = ways[int(rng.integers(len(ways)))](good, rng)
        if mutated == good:
            continue
        path.write_bytes(mutated)
        found = try_file(path)
        assert not found.startswith("unforeseen"), (number, found)
        n_changed += 1
        n_refused += not found.startswith("loads")
    assert n_changed > 40
    assert n_refused > 0.5 * n_changed


def rewritten(name, folder, change):
    """A file of this kind whose header and arrays a function has changed, with right checksums."""
    header, blocks = split(good_files(folder, [name])[name])
    change(header, blocks)
    path = folder / "changed.softwood"
    path.write_bytes(seal(header, blocks))
    return path


def arrays_of(found, wanted):
    """Numbers of the arrays under entries of this name."""
    if isinstance(found, list):
        return [number for item in found for number in arrays_of(item, wanted)]
    if not isinstance(found, dict):
        return []
    own = [i["array"] for key, i in found.items() if key == wanted and isinstance(i, dict) and i.get("is") == "array"]
    return own + [number for item in found.values() for number in arrays_of(item, wanted)]


def set_number(array, place, value):
    def change(header, blocks):
        k = arrays_of(header, array)[0]
        kind, shape = header["arrays"][k]
        numbers = np.frombuffer(blocks[k], dtype=kind).reshape(shape).copy()
        numbers[place] = value
        blocks[k] = bytearray(numbers.tobytes())

    return change


def cut(array, axis=0):
    """Drop the last entry of an axis of the first array of this name."""

    def change(header, blocks):
        k = arrays_of(header, array)[0]
        kind, shape = header["arrays"][k]
        numbers = np.frombuffer(blocks[k], dtype=kind).reshape(shape)
        numbers = np.delete(numbers, -1, axis)
        header["arrays"][k][1], blocks[k] = list(numbers.shape), bytearray(numbers.tobytes())

    return change


def set_state(**values):
    return lambda header, blocks: header["content"]["state"].update(values)


def set_fitted(**values):
    return lambda header, blocks: header["content"]["state"]["fitted"].update(values)


def set_kind(name):
    return lambda header, blocks: header["content"].update({"is": name})


TREE, FOREST = "KernelTreeClassifier", "KernelForestRegressor"
STAGED = "OneStageTreeClassifier"
HARD, SOFT = "stream.HoeffdingTreeClassifier", "stream.SoftHoeffdingTreeRegressor"
RESTARTED, DRIFT_DELTA = "restarted tree", Settings._fields.index("drift_delta")
WRONG = {
    "another class": (TREE, set_kind("SEA"), "it holds no model"),
    "a record alone": (TREE, set_kind("columns"), "it holds no model"),
    "a function of the package": (TREE, set_kind("softwood.stream.prequential"), "it holds no model"),
    "another estimator": (TREE, set_kind(FOREST), "is not known"),
    "a cycle": ("SoftTree", set_number("children_left", 4, 1), "parent and depth do not agree"),
    "a child of itself": (TREE, set_number("children_left", 0, 0), "in fitted.tree_: parent and depth do not agree"),
    "a child of another tree": (FOREST, set_number("children_right", 0, 300), "must describe one tree"),
    "depth": (FOREST, set_number("depth", 5, 77), "in fitted.forest_: parent and depth do not agree"),
    "threshold": (TREE, set_number("threshold", 0, np.nan), "a finite threshold"),
    "value": (TREE, set_number("value", (0, 0), np.inf), "value must be finite"),
    "feature": (TREE, set_number("feature", 0, 4), "need a feature of the data"),
    "gate": ("SoftTree", set_number("gate", 0, 9), "Exactly the nodes with children must have a gate"),
    "weights": ("SoftTree", set_number("weights", (0, 0), np.nan), "weights must be finite"),
    "kernel": (TREE, set_number("kernel", 0, 5), "kernel must be a row of shapes"),
    "offsets": (FOREST, set_number("offsets", 1, 0), "offsets must rise"),
    "output": (FOREST, set_number("output", 0, 3), "base must have an entry for each output"),
    "scale": ("SoftTreeClassifier", set_number("scale", 0, -1.0), "scale"),
    "many features": ("SoftTree", set_state(n_features=2**40), "n_features must be a number of columns"),
    "link": ("SoftTree", set_state(link="exp"), "link must be one of"),
    "shapes": (TREE, set_number("cdfs", (0, 0), 0.5), "cdfs of kernel shapes must rise from 0 to 1"),
    "widths": (TREE, set_number("widths", 0, -1.0), "in fitted._reading_: widths must be at least 0"),
    "kinds": (TREE, set_number("kinds", 0, 7), "kinds must hold a row of shapes for each column"),
    "kernels": (TREE, set_number("places", 0, 7), "places must be numbers of kernels"),
    "columns of a reading": (TREE, cut("places"), "in fitted._reading_: widths must have shape (3,)"),
    "source": (TREE, set_number("source", 0, 9), "source and categories must describe the 4 columns"),
    "encoded columns": (TREE, set_number("source", 0, 1), "The number of categories does not match"),
    "bandwidths": (TREE, cut("bandwidths_"), "bandwidths_ must have shape (4,)"),
    "missing values": (TREE, set_number("missing_left", 0, np.nan), "missing_left and blend must be in [0, 1]"),
    "rows of values": (FOREST, cut("value"), "value must have one row for each of"),
    "outputs of values": (FOREST, cut("value", 1), "value must have one row for each of"),
    "columns of weights": ("SoftTree", cut("weights", 1), "weights must have shape (9, 4)"),
    "columns of a scaling": ("SoftTreeClassifier", cut("center"), "must have"),
    "complete tree": (STAGED, cut("gates"), "gates must be those of a complete tree"),
    "nodes of a complete tree": (STAGED, cut("alive"), "alive must have shape"),
    "columns of a complete tree": (STAGED, cut("gates", 1), "_unpruned_ does not fit the columns"),
    "number of columns": (TREE, set_fitted(n_features_in_=5), "n_features_in_ is not the number of columns"),
    "unknown attribute": (TREE, set_fitted(fit=1), "'fit' is not known"),
    "missing attribute": (TREE, lambda h, b: h["content"]["state"]["fitted"].pop("columns_"), "'columns_' is missing"),
    "unknown parameter": (TREE, lambda h, b: h["content"]["state"]["parameters"].update(x=1), "'x' is not known"),
    "number of nodes": (HARD, set_number("counters", 0, 10_000), "'counters' is damaged"),
    "number of inner nodes": (SOFT, set_number("counters", 1, 0), "'counters' is damaged"),
    "events that are not there": (SOFT, set_number("counters", 2, 10**9), "'counters' is damaged"),
    "place in the batch": (SOFT, set_number("counters", 5, 1), "'counters' is damaged"),
    "slots are all": (HARD, set_number("counters", 6, 1), "do not fit the limits"),
    "slots taken": (SOFT, set_number("counters", 7, 1), "'counters' is damaged"),
    "limit": (SOFT, lambda h, b: h["content"]["state"]["fitted"]["growth_"]["state"].update(max_bytes=1.0), "limits"),
    "a slot of another": (HARD, set_number("nodes", (0, 5), 1), "'nodes' is damaged"),
    "children on a stream": (HARD, set_number("nodes", (0, 0), 0), "'nodes' is damaged"),
    "classes of a leaf": (HARD, set_number("keys", (0, 0), 99), "'keys' is damaged"),
    "settings": (SOFT, set_number("settings", 0, np.nan), "'settings' is damaged"),
    "numbers": (SOFT, set_number("numbers", (0, 1), np.inf), "'numbers' holds numbers that it cannot hold"),
    "gates": (SOFT, set_number("gates", (0, 0, 3), np.nan), "'gates' holds numbers that it cannot hold"),
    "width of a bin": (SOFT, set_number("stats", (0, 0, -1, 1), -1.0), "'stats' is damaged"),
    "end of a histogram": (SOFT, set_number("stats", (0, 0, -1, 0), np.inf), "'stats' is damaged"),
    "draws": ("stream.ModelPool", lambda h, b: h["content"]["state"]["fitted"]["_state"]["state"].update(place=10**6),
              "in fitted._state: place must be an int from 0 to 624"),
    "learners": ("stream.ModelPool", set_number("_learners", 0, 9), "must be numbers of models of the pool"),
    "places": ("river.HoeffdingTreeRegressor", lambda h, b: h["content"]["state"]["names"].pop(), "do not match"),
    "learners for river": ("river.ModelPoolRegressor", set_number("_learners", 0, 9), "must be numbers of models"),
    "window of a detector": (RESTARTED, set_number("detector", A_WIDTH, 7.5), "The state of a detector is damaged"),
    "buckets of a detector": (RESTARTED, set_number("detector", A_COUNTS, 99.0), "The state of a detector is damaged"),
    "delta of a detector": (RESTARTED, set_number("detector", A_DELTA, 0.5), "does not fit its parameters"),
    "recent errors": (RESTARTED, set_number("detector", -1, np.nan), "'detector' holds numbers that it cannot hold"),
    "sizes of errors": (RESTARTED, set_number("detector", SIZE, -1.0), "holds numbers that it cannot hold"),
    "no detector": (RESTARTED, set_number("settings", DRIFT_DELTA, 0.0), "'detector' has shape"),
    "kind of an alarm": (RESTARTED, set_number("log_integers", (-1, 0), 4), "'log' is damaged"),
    "no growth": ("river.HoeffdingTreeRegressor", set_state(growth=None), "growth is missing"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_content_is_named(what, tmp_path):
    name, change, message = WRONG[what]
    path = rewritten(name, tmp_path, change)
    begin = time.process_time()
    with pytest.raises(InvalidFileError) as error:
        softwood.load(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert error.value.__cause__ is None
    assert time.process_time() - begin < 5.0


def test_a_file_without_a_later_parameter_gets_its_default(tmp_path):
    def drop(header, blocks):
        del header["content"]["state"]["parameters"]["handle_unknown"]

    assert softwood.load(rewritten(TREE, tmp_path, drop)).handle_unknown == "missing"


def test_a_forest_of_one_tree_has_the_checks_of_a_tree(tmp_path):
    """Each wrong number in the structure of a tree is found in a forest, too."""
    tree = fitted("SoftTree")
    forest = softwood.SoftForest.mean([tree, tree])
    softwood.save(forest, tmp_path / "good.softwood")
    data = (tmp_path / "good.softwood").read_bytes()
    for array in ("children_left", "children_right", "parent", "depth"):
        for place in range(2 * tree.n_nodes):
            for value in (-2, -1, 0, 1, 8, 9, 17, 2**31 - 1):
                header, blocks = split(data)
                k = arrays_of(header, array)[0]
                numbers = np.frombuffer(blocks[k], dtype=np.int32).copy()
                if numbers[place] == value:
                    continue
                numbers[place] = value
                blocks[k] = bytearray(numbers.tobytes())
                (tmp_path / "bad.softwood").write_bytes(seal(header, blocks))
                with pytest.raises(InvalidFileError):
                    softwood.load(tmp_path / "bad.softwood")
