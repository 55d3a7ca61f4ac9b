import numpy as np
import pandas as pd
import pytest

from softwood.stream import (
    SEA,
    Agrawal,
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
)
from softwood.stream.adapting import adaptation


def new_model():
    return SoftHoeffdingTreeClassifier(grace_period=50, max_depth=4, random_state=0)


def test_numbers_are_those_of_predictions_before_learning():
    X, y = SEA(seed=0).take(1050)
    result = adaptation(new_model(), SEA(seed=0), n_samples=1050, window=200)
    model = new_model()
    norms, losses, sizes = [], [], []
    for i in range(1050):  # one by one, as slowly as can be
        p = model.test_then_train(X[i : i + 1], y[i : i + 1], classes=[0, 1])[0]
        norms.append(np.sqrt(sum((p[k] - (k == y[i])) ** 2 for k in range(2))))
        losses.append(-np.log(p[y[i]]))
        sizes.append(model.growth_.n_nodes)
    ends = [200, 400, 600, 800, 1000, 1050]
    starts = [0, *ends[:-1]]
    assert result.n_samples.tolist() == ends
    assert result.gradient_norm == pytest.approx([np.mean(norms[a:b]) for a, b in zip(starts, ends, strict=True)])
    assert result.loss == pytest.approx([np.mean(losses[a:b]) for a, b in zip(starts, ends, strict=True)])
    assert result.n_nodes.tolist() == [sizes[end - 1] for end in ends]
    assert result.n_added.tolist() == np.diff([1, *result.n_nodes]).tolist()
    assert result.n_added.sum() > 0
    frame = result.to_frame()
    assert list(frame) == ["n_samples", "gradient_norm", "loss", "n_nodes", "n_added"]
    assert len(frame) == 6


def test_snapshots_are_the_trees_of_their_time():
    X, y = SEA(seed=0).take(1000)
    result = adaptation(new_model(), (X, y), window=300, snapshots=[300, np.int64(777), 1000])
    assert list(result.snapshots) == [300, 777, 1000]
    for n, tree in result.snapshots.items():
        model = new_model().partial_fit(X[:n], y[:n], classes=[0, 1])
        np.testing.assert_allclose(tree.predict(X), model.tree_.predict(X))
    plain = adaptation(new_model(), (X, y), window=300)
    np.testing.assert_allclose(plain.gradient_norm, result.gradient_norm)
    assert plain.snapshots == {}


def test_a_drift_is_seen():
    stream = Agrawal(functions=(0, 2), drift_every=3000, seed=0)
    result = adaptation(SoftHoeffdingTreeClassifier(random_state=0), stream, n_samples=6000, window=500)
    before, at, after = result.gradient_norm[5], result.gradient_norm[6], result.gradient_norm[11]
    assert at > 2 * before
    assert after < at
    assert result.loss[6] > result.loss[5]
    assert (result.gradient_norm <= np.sqrt(2)).all()


def test_models_go_on_and_need_not_grow():
    stream = SEA(seed=0)
    model = new_model()
    first = adaptation(model, stream, n_samples=500, window=500)
    second = adaptation(model, stream, n_samples=500, window=500, snapshots=[0])
    assert second.n_samples.tolist() == [500]
    assert second.snapshots[0].n_nodes == first.n_nodes[-1]
    assert second.n_added[0] == model.growth_.n_nodes - first.n_nodes[-1]
    complete = adaptation(SmoothStepTreeClassifier(max_depth=2, random_state=0), stream, n_samples=500, window=250)
    assert complete.n_nodes.tolist() == [7, 7]
    assert adaptation(HoeffdingTreeClassifier(), stream, n_samples=300).n_samples.tolist() == [300]


def test_frames_and_labels():
    X, y = SEA(seed=0).take(600)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=np.array(["no", "yes"])[y])
    model = new_model()
    result = adaptation(model, frame, target="label", window=250, snapshots=[130])
    assert model.columns_.names == ("a", "b", "c")
    assert result.gradient_norm == pytest.approx(adaptation(new_model(), (X, y), window=250).gradient_norm)


def test_wrong_arguments():
    X, y = SEA(seed=0).take(50)
    for model in (SoftHoeffdingTreeRegressor(), "tree"):
        with pytest.raises(
            ValueError, match=r"'model' parameter of adaptation must be a classifier of softwood.stream"
        ):
            adaptation(model, (X, y))
    with pytest.raises(ValueError, match="'n_samples' parameter of adaptation must be an int for a stream without end"):
        adaptation(new_model(), SEA())
    with pytest.raises(ValueError, match="'window' parameter of adaptation"):
        adaptation(new_model(), (X, y), window=0)
    for snapshots in (3, [-1], [0.5], [True]):
        with pytest.raises(ValueError, match="'snapshots' parameter of adaptation must be an iterable of ints"):
            adaptation(new_model(), (X, y), snapshots=snapshots)
    with pytest.raises(ValueError, match=r"'snapshots' parameter of adaptation must be numbers of rows up to 50.* 51"):
        adaptation(new_model(), (X, y), snapshots=[10, 51])
