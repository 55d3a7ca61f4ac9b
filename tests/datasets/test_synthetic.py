import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from softwood.datasets import TOY_CLASSIFICATION, TOY_REGRESSION, toy_classification, toy_regression

DRAWS = [
    *((toy_classification, kind) for kind in TOY_CLASSIFICATION),
    *((toy_regression, kind) for kind in TOY_REGRESSION),
]


@pytest.mark.parametrize("n_samples", [1, 50, 1001])
@pytest.mark.parametrize("kind", TOY_CLASSIFICATION)
def test_shapes_of_classes(kind, n_samples):
    X, y = toy_classification(kind, n_samples, random_state=0)
    assert X.shape == (n_samples, 2)
    assert X.dtype == np.float64
    assert y.shape == (n_samples,)
    assert y.dtype == np.int64
    if n_samples > 1:
        assert set(y.tolist()) == set(range(3 if kind == "gaussians" else 2))


@pytest.mark.parametrize("kind", TOY_REGRESSION)
def test_shapes_of_functions(kind):
    X, y = toy_regression(kind, 50, random_state=0)
    assert X.shape == (50, 1)
    assert y.shape == (50,)
    assert X.dtype == y.dtype == np.float64


@pytest.mark.parametrize(("draw", "kind"), DRAWS)
def test_a_seed_gives_the_same_set(draw, kind):
    for again in (0, np.random.default_rng(0)):
        for first, second in zip(draw(kind, 40, random_state=0), draw(kind, 40, random_state=again), strict=True):
            np.testing.assert_array_equal(first, second)
    assert not np.array_equal(draw(kind, 40, random_state=0)[0], draw(kind, 40, random_state=1)[0])


def test_noise_is_added_with_its_standard_deviation():
    clean = toy_regression("sine", 5000, noise=0, random_state=0)
    noisy = toy_regression("sine", 5000, noise=0.3, random_state=0)
    np.testing.assert_array_equal(clean[0], noisy[0])
    np.testing.assert_allclose(clean[1], np.sin(2 * np.pi * clean[0][:, 0]))
    assert np.std(noisy[1] - clean[1]) == pytest.approx(0.3, rel=0.05)

    clean = toy_classification("moons", 5000, noise=0, random_state=0)
    noisy = toy_classification("moons", 5000, noise=0.3, random_state=0)
    np.testing.assert_array_equal(clean[1], noisy[1])
    assert np.std(noisy[0] - clean[0]) == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("kind", TOY_REGRESSION)
def test_functions_stay_within_their_bounds(kind):
    _, y = toy_regression(kind, 1000, noise=0, random_state=0)
    assert np.abs(y).max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("draw", "kind"), DRAWS)
def test_usual_noise_leaves_something_to_learn_and_something_to_smooth(draw, kind):
    classes = draw is toy_classification
    model = (KNeighborsClassifier if classes else KNeighborsRegressor)(n_neighbors=15)
    model.fit(*draw(kind, 1000, random_state=0))
    assert 0.8 < model.score(*draw(kind, 4000, random_state=1)) < 0.995


@pytest.mark.parametrize(
    ("draw", "kinds"), [(toy_classification, "'checkerboard', 'circles'"), (toy_regression, "'ramp', 'sine'")]
)
def test_errors_name_the_parameter(draw, kinds):
    kind = kinds.split("'")[1]
    with pytest.raises(ValueError, match=f"'kind' parameter of .* must be one of {kinds}.*Got 'mooons' instead"):
        draw("mooons")
    with pytest.raises(ValueError, match=r"'n_samples' parameter .*Got 0 instead"):
        draw(kind, 0)
    for noise in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"'noise' parameter .*Got {noise} instead"):
            draw(kind, 10, noise=noise)
