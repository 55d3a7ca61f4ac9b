"""Tables and targets in containers of other packages: masked arrays, sparse columns and matrices, arrays of objects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from softwood.kernel.base import KernelModel
from tests.contract.specs import CLASSES, every, every_batch, every_classifier, every_validated
from tests.models import answer


def same(spec, one, other, y):
    """Whether a model of both tables is the same, and reads them as the same."""
    models = [spec.make().fit(table, y) for table in (one, other)]
    return all(
        np.array_equal(answer(models[0], one), answer(model, table)) for model in models for table in (one, other)
    )


# ------------------------------------------------------------------ masked arrays


@every
@pytest.mark.parametrize("kind", [float, int, object, np.float32])
def test_masked_cells_are_missing_values(spec, kind):
    X, y = spec.table()
    X = np.round(8 * X)
    mask = np.random.default_rng(0).random(X.shape) < 0.2
    masked = np.ma.array(X.astype(kind), mask=mask)
    assert same(spec, masked, np.where(mask, np.nan, X), y)
    assert not np.isnan(masked.data.astype(float)).any()  # the user's cells stay as they are


@every
def test_masked_categories_are_missing_values(spec):
    X, y = spec.table()
    cells = np.column_stack([X.astype(object), np.array(["u", "v", "w"])[np.arange(len(X)) % 3]])
    mask = np.random.default_rng(0).random(cells.shape) < 0.2
    masked, plain = np.ma.array(cells, mask=mask), np.where(mask, None, cells)
    models = [spec.make(categorical_features=[4]).fit(table, y) for table in (masked, plain)]
    assert models[0].columns_.categories == models[1].columns_.categories
    assert np.array_equal(answer(models[0], masked), answer(models[1], plain))


@every
def test_masked_targets_and_weights_are_refused(spec):
    X, y = spec.table()
    mask = np.arange(len(y)) < 7
    model = spec.make()
    for arguments, name in (
        ((np.ma.array(y, mask=mask),), "y"),
        ((y, np.ma.array(np.ones(len(y)), mask=mask)), "sample_weight"),
    ):
        with pytest.raises(ValueError, match=rf"{name} has 7 masked values, .* X\[~{name}.mask\]"):
            model.fit(X, *arguments)
        if spec.is_stream:
            extra = {"classes": CLASSES} if spec.is_classifier else {}
            with pytest.raises(ValueError, match=f"{name} has 7 masked values"):
                model.partial_fit(X, arguments[0], sample_weight=dict(enumerate(arguments)).get(1), **extra)
    assert vars(model) == vars(spec.make())
    no_mask = np.ma.array(y, mask=False)
    assert np.array_equal(answer(spec.make().fit(X, no_mask, np.ma.ones(len(y))), X), answer(spec.fitted(), X))


@every_validated
def test_masked_validation_targets_are_refused(spec):
    X, y = spec.table()
    with pytest.raises(ValueError, match="7 masked values"):
        spec.make().fit(X, y, X_val=X, y_val=np.ma.array(y, mask=np.arange(len(y)) < 7))


# ------------------------------------------------------------------ sparse columns and matrices


@every
@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("with_text", [False, True])
def test_sparse_columns_of_pandas(spec, fill, with_text):
    X, y = spec.table()
    X = np.where(np.abs(X) < 0.3, fill, X)
    dense = pd.DataFrame(X, columns=list("abcd"))
    if with_text:
        dense["word"] = np.array(["u", "v", "w"])[np.arange(len(X)) % 3]
    mixed = dense.astype({"a": pd.SparseDtype(float, fill), "c": pd.SparseDtype(float, fill)})
    assert same(spec, mixed, dense, y)
    assert str(mixed.dtypes["a"]).startswith("Sparse")  # the user's frame stays as it is


@every
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices_are_refused_with_what_to_do(spec, make):
    X, y = spec.table()
    with pytest.raises(TypeError, match=r"[Ss]parse .*\.toarray\(\)"):
        spec.make().fit(make(X), y)
    with pytest.raises(TypeError, match=r"[Ss]parse .*\.toarray\(\)"):
        spec.fitted().predict(make(X))
    codes = np.searchsorted(CLASSES, y) if spec.is_classifier else y
    with pytest.raises(TypeError, match=r"y is a sparse matrix.* y\.toarray\(\)"):
        spec.make().fit(X, make(codes[:, None]))
    with pytest.raises(TypeError, match=r"sample_weight is a sparse matrix.* sample_weight\.toarray\(\)"):
        spec.make().fit(X, y, make(np.ones((len(y), 1))))


# ------------------------------------------------------------------ labels among objects


@every_classifier
@pytest.mark.parametrize("labels", [[True, False, True], [3, 1, 2]])
def test_labels_among_objects(spec, labels):
    X, words = spec.table()
    y = np.array(labels)[np.searchsorted(CLASSES, words)]
    expected = spec.make().fit(X, y)
    for other in (y.astype(object), pd.Series(y, dtype=object)):
        model = spec.make().fit(X, other)
        assert model.classes_.dtype == y.dtype
        assert model.classes_.tolist() == sorted(set(labels))
        assert np.array_equal(answer(model, X), answer(expected, X))


@every_classifier
def test_labels_of_several_types_are_refused(spec):
    X, y = spec.table()
    mixed = np.where(np.arange(len(y)) % 2, True, y.astype(object))
    with pytest.raises(ValueError, match=r"y must be labels of one type. Got bool, str instead.*astype\(str\)"):
        spec.make().fit(X, mixed)


# ------------------------------------------------------------------ identifiers


@every
def test_too_many_categories(spec):
    """What the message proposes works; kernel models take any number, and a stream reads the first 255."""
    X, y = spec.table(n=300)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=[f"id {k % 270}" for k in range(300)])
    if spec.is_stream or issubclass(spec.model_class, KernelModel):
        assert np.isfinite(answer(spec.make().fit(frame, y), frame)).all()
        return
    with pytest.raises(ValueError, match=r"Column 'word' has 270 different categories, more than the 255 .*TargetEnc"):
        spec.make().fit(frame, y)
    frequent = frame["word"].value_counts().index[:20]
    grouped = frame.assign(word=frame["word"].where(frame["word"].isin(frequent), "other"))
    encoder = make_column_transformer((TargetEncoder(), ["word"]), remainder="passthrough")
    for model, table in ((spec.make(), grouped), (make_pipeline(encoder, spec.make()), frame)):
        assert np.isfinite(answer(model.fit(table, y), table)).all()


# ------------------------------------------------------------------ columns of objects


@every
def test_truth_values_among_objects(spec):
    """A column of True, False and missing cells is the same as one whose type says so."""
    X, y = spec.table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    flags = pd.Series(np.arange(len(X)) % 5 < 2)
    objects, plain = frame.assign(open=flags.astype(object)), frame.assign(open=flags)
    assert same(spec, objects, plain, y)
    gaps = flags.astype(object).where(np.arange(len(X)) % 7 > 0, None)
    assert same(spec, frame.assign(open=gaps), frame.assign(open=gaps.astype("boolean")), y)


UNREADABLE = {
    "text and numbers": (
        [1.5, "x"],
        ValueError,
        r"several kinds, such as 1\.5 and 'x'.*pd\.to_numeric\(X\['word'\]",
    ),
    "text and flags": ([True, "x"], ValueError, r"several kinds, such as True and 'x'.*X\['word'\]\.astype\(str\)"),
    "text and dates": ([pd.Timestamp(0), "x"], ValueError, r"several kinds, .*pd\.to_datetime\(X\['word'\], errors"),
    "lists": ([[1, 2], [3]], TypeError, "holds a list. A cell of this argument must be one string, number"),
    "text and lists": (["x", [3]], TypeError, "holds a list. A cell of this argument must be one string, number"),
    "arrays": ([np.zeros(2), np.ones(2)], TypeError, "holds an array. A cell of this argument must be one string"),
    "dicts": ([{"a": 1}, {}], TypeError, "holds a dict. A cell of this argument must be one string, number"),
    "bytes": ([b"x", b"y"], ValueError, "expected to hold numbers .* Convert it, or name it in categorical_features"),
}


@every
@pytest.mark.parametrize("kind", UNREADABLE)
def test_columns_that_cannot_be_read_are_named(spec, kind):
    X, y = spec.table()
    pair, error, message = UNREADABLE[kind]
    cells = pd.Series([pair[k % 2] for k in range(len(X))], dtype=object)
    model = spec.make()
    with pytest.raises(error, match=f"Column 'word' .*{message}"):
        model.fit(pd.DataFrame(X, columns=list("abcd")).assign(word=cells), y)
    assert vars(model) == vars(spec.make())


@every
def test_nested_columns_of_polars_are_named(spec):
    X, y = spec.table()
    for cell in ([1], ["u"], {"a": 1}, {"a": "u"}):
        table = pl.DataFrame({"a": X[:, 0], "word": [cell] * len(X)})
        with pytest.raises(TypeError, match=r"Column 'word' holds a (list|dict)\. A cell of this argument"):
            spec.make().fit(table, y)


@every
def test_repeated_names_are_refused_with_what_to_do(spec):
    X, y = spec.table()
    frame = pd.DataFrame(X, columns=list("abca"))
    with pytest.raises(ValueError, match=r"X has 2 columns with the name 'a'.*X\.loc\[:, ~X\.columns\.duplicated"):
        spec.make().fit(frame, y)
    assert spec.make().fit(frame.loc[:, ~frame.columns.duplicated()], y).n_features_in_ == 3


@every_batch
def test_dates_as_text_are_to_be_converted(spec):
    X, y = spec.table(n=300)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(day=pd.date_range("2020", periods=300).astype(str))
    with pytest.raises(ValueError, match=r"'day' has 300 different categories, .*dates as text.*pd\.to_datetime\("):
        spec.make().fit(frame, y)
    spec.make().fit(frame.assign(day=pd.to_datetime(frame["day"])), y)
