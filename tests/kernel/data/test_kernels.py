import numpy as np
import pytest
from scipy.stats import norm

from softwood import Kernel, KernelTreeClassifier
from softwood.core.columns import Columns
from softwood.kernel.data.kernels import box, gaussian, resolve_kernels, triangle
from tests.reference.kernels import SHAPES, draw, table

NAMED = [box(), triangle(), gaussian(), triangle(20), gaussian(31, reach=3.0)]
NAMES = ("a", "b=u", "b=v", "b=w", "c")
COLUMNS = Columns(NAMES, np.array([0, 1, 1, 1, 2]), (None, ("u", "v", "w"), None), ("a", "b", "c"))


@pytest.mark.tiny
@pytest.mark.parametrize("kernel", NAMED)
def test_a_kernel_integrates_to_one_and_is_as_wide_as_the_box(kernel):
    assert kernel.densities @ np.diff(kernel.edges) == pytest.approx(1.0)
    assert kernel.cdf[0] == 0.0
    assert kernel.cdf[-1] == 1.0
    assert np.all(np.diff(kernel.cdf) > 0)
    assert kernel.standard_deviation == pytest.approx(1 / np.sqrt(3))
    assert kernel.edges + kernel.edges[::-1] == pytest.approx(0, abs=1e-12)  # symmetric


@pytest.mark.tiny
def test_many_pieces_come_close_to_the_smooth_kernel():
    kernel = gaussian(101, reach=4.0)
    at = np.linspace(-2, 2, 41)
    found = np.interp(at, kernel.edges, kernel.cdf)
    assert found == pytest.approx(norm.cdf(at, scale=1 / np.sqrt(3)), abs=2e-3)
    assert np.interp(at, *_table(gaussian())) == pytest.approx(norm.cdf(at, scale=1 / np.sqrt(3)), abs=0.02)
    peak = triangle(101)
    reach = np.sqrt(2.0)  # a triangle of this half-width has the box's deviation
    smooth = np.where(at < 0, 0.5 * (1 + at / reach) ** 2, 1 - 0.5 * (1 - at / reach) ** 2)
    smooth = np.where(np.abs(at) < reach, smooth, at > 0)
    assert np.interp(at, *_table(peak)) == pytest.approx(smooth, abs=2e-3)


def _table(kernel):
    return kernel.edges, kernel.cdf


@pytest.mark.tiny
@pytest.mark.parametrize("shape", SHAPES)
def test_own_kernels(shape):
    kernel = Kernel(*shape)
    edges, values = table(shape)
    assert kernel.edges == pytest.approx(edges)
    assert kernel.cdf == pytest.approx(values)
    drawn = draw(np.random.default_rng(0), 0.0, 1.0, shape, 20_000)
    assert kernel.standard_deviation == pytest.approx(drawn.std(), rel=0.02)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], []), "'edges' .* at least two finite numbers, each above the one before. Got"),
        (([1.0, 0.0], [1.0]), r"'edges' .* Got \[1.0, 0.0\]"),
        (([0.0, 0.0], [1.0]), "'edges'"),
        (([0.0, np.inf], [1.0]), "'edges'"),
        (([0.0, np.nan], [1.0]), "'edges'"),
        (([-1e308, 1e308], [1.0]), "'edges'"),
        (([[0.0, 1.0]], [1.0]), "'edges'"),
        (([[0.0], [0.0, 1.0]], [1.0]), "'edges'"),
        (("wide", [1.0]), "'edges' .* Got 'wide'"),
        ((None, [1.0]), "'edges' .* Got None"),
        (([0.0, 1.0], [1.0, 2.0]), r"'densities' .* one for each of the 1 pieces between edges. Got \[1.0, 2.0\]"),
        (([0.0, 1.0], [-1.0]), r"'densities' .* at least 0, .* Got \[-1.0\]"),
        (([0.0, 1.0], [np.nan]), "'densities' .* finite"),
        (([0.0, 1.0], "high"), "'densities' .* Got 'high'"),
        (([0.0, 1.0], None), "'densities' .* Got None"),
        (([0.0, 1.0, 2.0], [0.0, 1.0]), "'densities' .* above 0 in the first and the last piece"),
        (([0.0, 1.0], [0.0]), "'densities' .* above 0 in the first and the last piece"),
        (([0.0, 1.0, 2.0], [1e308, 1e308]), "'densities' .* brought to 1, .* Got 'densities with an integral of inf'"),
        (([0.0, 1e-320], [1.0]), "'densities' .* Got 'densities with an integral of 9.99989e-321'"),
        (([0.0, 1.0], [1.0], 3.0), "'scale' .* a function .* Got 3.0"),
    ],
)
def test_not_a_kernel(arguments, message):
    with pytest.raises(ValueError, match=message) as found:
        Kernel(*arguments)
    assert "parameter of Kernel must be" in str(found.value)


@pytest.mark.tiny
@pytest.mark.parametrize("factor", [1e-300, 0.5, 1.0, 7.0, 1e300])
def test_densities_are_brought_to_an_integral_of_one(factor):
    kernel = Kernel([-1.0, 0.0, 2.0], [2.0 * factor, 1.0 * factor])
    assert kernel.densities == pytest.approx([0.5, 0.25])
    assert kernel.cdf.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.tiny
def test_kernels_by_column():
    late = Kernel([0.0, 1.0], [1.0])
    kernels, numbers, shapes = resolve_kernels(None, "kernel", {"c": late, 0: "triangle"}, COLUMNS)
    assert numbers.tolist() == [1, 0, 0, 0, 2]
    assert len(shapes) == 3
    assert kernels[4] is late
    assert shapes.edges[2, :2].tolist() == [0, 1]
    _, numbers, shapes = resolve_kernels(None, "kernel", "gaussian", COLUMNS)
    assert numbers.tolist() == [1, 0, 0, 0, 1]  # categories have no kernel
    _, numbers, shapes = resolve_kernels(None, "kernel", Kernel([-1, 1], [7.0]), COLUMNS)
    assert numbers.tolist() == [0] * 5  # that is the box
    assert len(shapes) == 1


@pytest.mark.parametrize("kernel", ["box", "triangle", "gaussian", *(Kernel(*shape) for shape in SHAPES)])
def test_half_width_zero_is_the_crisp_tree(kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(3, size=60)
    crisp = KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit(X, y)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, kernel=kernel).fit(X, y)
    assert np.array_equal(model.tree_.threshold, crisp.tree_.threshold, equal_nan=True)
    assert np.array_equal(model.predict_proba(X), crisp.predict_proba(X))


def test_a_position_dependent_kernel_is_wide_where_it_says():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 100, size=(80, 1))
    y = (X[:, 0] > 50).astype(int)
    relative = Kernel([-1, 1], [1], scale=lambda x: np.abs(x))
    model = KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0.1, bandwidth_unit="absolute", kernel=relative, max_depth=1
    ).fit(X, y)
    t = model.tree_.threshold[0]
    for x in (0.85 * t, 0.95 * t, t, 1.05 * t, 1.2 * t):
        share = np.clip((t - 0.9 * x) / (0.2 * x), 0, 1)  # of the box from 0.9 x to 1.1 x
        assert model.memberships([[x]]).toarray()[0, 1] == pytest.approx(share)
    same = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, max_depth=1)
    same.fit(X, y, measurement_error=0.1 * X)
    assert same.tree_.threshold[0] == pytest.approx(t)


@pytest.mark.parametrize("scale", [lambda x: x[:3], lambda x: np.full(len(x), np.nan), lambda x: -np.ones(len(x))])
def test_scales_that_make_no_sense(scale):
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, kernel=Kernel([-1, 1], [1], scale=scale))
    with pytest.raises(ValueError, match="scale of a Kernel must return a finite factor of at least 0"):
        model.fit(np.arange(8.0)[:, None], [0, 1] * 4)


def test_an_asymmetric_kernel_moves_the_split():
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 5
    for edges, expected in (([-0.5, 0.5], 4.5), ([0.0, 1.0], 5.0), ([-1.0, 0.0], 4.0)):
        kernel = Kernel(edges, [1.0])
        model = KernelTreeClassifier(
            refine=False, trend=None, bandwidth=1.0, bandwidth_unit="absolute", kernel=kernel, max_depth=1
        ).fit(X, y)
        assert model.tree_.threshold[0] == pytest.approx(expected)
