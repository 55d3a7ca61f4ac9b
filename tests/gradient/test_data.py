import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.core.targets import read_classes, read_reals
from softwood.gradient.data import (
    LearningSet,
    Scaling,
    divide_rows,
    link_of,
    merge_rows,
    outputs_of,
    validation_rows,
    visits,
    with_mean_1,
)
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, SOFTMAX

# ------------------------------------------------------------------ scaling


def matrix_with(column, n=40):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(3.0, 2.0, size=n), column, rng.uniform(size=n)])


COLUMNS = {
    "huge": 1e300 * np.random.default_rng(1).normal(size=40),
    "largest": np.where(np.arange(40) % 3, 1.7e308, -1.7e308),
    "tiny": 1e-290 * np.random.default_rng(2).normal(size=40),
    "far from 0": 1e9 + np.random.default_rng(3).normal(size=40),
    "two values": np.where(np.arange(40) % 7, 0.0, 1.0),
}


@pytest.mark.tiny
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_standardised_columns_have_mean_zero_and_deviation_one(column):
    matrix, weights = matrix_with(column), np.random.default_rng(4).integers(1, 5, size=40).astype(float)
    points = Scaling.of(matrix, weights).standardise(matrix)
    assert np.average(points, axis=0, weights=weights) == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.average(points**2, axis=0, weights=weights) == pytest.approx(np.ones(3), rel=1e-6)


CONSTANT = {
    "zero": np.zeros(40),
    "one": np.ones(40),
    "a third": np.full(40, 1 / 3),
    "huge": np.full(40, 1.7e308),
    "rounding": np.where(np.arange(40) % 2, 1.0, 1.0 + 2**-52),
    "smallest": np.where(np.arange(40) % 2, 0.0, 5e-324),
    "missing": np.full(40, np.nan),
    "constant or missing": np.where(np.arange(40) % 2, 7.0, np.nan),
}


@pytest.mark.tiny
@pytest.mark.parametrize("column", CONSTANT.values(), ids=CONSTANT)
def test_columns_without_spread_say_nothing(column):
    matrix, weights = matrix_with(column), np.random.default_rng(4).uniform(size=40)
    scaling = Scaling.of(matrix, weights)
    assert not scaling.standardise(matrix)[:, 1].any()
    elsewhere = matrix_with(np.linspace(-1e6, 1e6, 40))
    assert not scaling.standardise(elsewhere)[:, 1].any()
    gates, bias = scaling.fold_back(np.ones((1, 4)))
    assert gates[0, 1] == 0
    assert np.isfinite(gates).all()
    assert np.isfinite(bias).all()
    assert np.isfinite(scaling.fill(matrix)).all()


@pytest.mark.tiny
def test_missing_values_count_as_the_mean_of_the_others():
    column = np.where(np.arange(40) % 4, np.linspace(1e300, 2e300, 40), np.nan)
    matrix, weights = matrix_with(column), np.ones(40)
    scaling, known = Scaling.of(matrix, weights), ~np.isnan(column)
    points = scaling.standardise(matrix)
    assert scaling.center[1] == pytest.approx(1e300 * (column[known] / 1e300).mean())
    assert not points[~known, 1].any()
    assert points[known, 1].std() == pytest.approx(1.0)
    filled = scaling.fill(matrix)
    assert np.all(filled[~known, 1] == scaling.center[1])
    assert np.array_equal(filled[known], matrix[known])
    assert scaling.fill(filled) is filled


@pytest.mark.tiny
@pytest.mark.parametrize("column", (COLUMNS | CONSTANT).values(), ids=COLUMNS | CONSTANT)
def test_gates_in_the_users_units_have_the_same_inputs(column):
    matrix, rng = matrix_with(column), np.random.default_rng(6)
    scaling, gates = Scaling.of(matrix, np.ones(40)), rng.normal(size=(5, 4))
    weights, bias = scaling.fold_back(gates)
    found = scaling.fill(matrix) @ weights.T + bias
    expected = scaling.standardise(matrix) @ gates[:, :-1].T + gates[:, -1]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.tiny
def test_weights_of_the_scaling_are_repetition():
    matrix, repeats = matrix_with(COLUMNS["two values"]), np.random.default_rng(7).integers(1, 4, size=40)
    one = Scaling.of(matrix, repeats.astype(float))
    other = Scaling.of(np.repeat(matrix, repeats, axis=0), np.ones(repeats.sum()))
    assert one.center == pytest.approx(other.center)
    assert one.scale == pytest.approx(other.scale)


# ------------------------------------------------------------------ targets


@pytest.mark.tiny
def test_outputs_and_links():
    reals, two, three = read_reals([1.0, 2.0, 3.0], np.ones(3)), read_classes([0, 1, 0]), read_classes(list("bca"))
    assert [link_of(targets) for targets in (reals, two, three)] == [IDENTITY, LOGISTIC, SOFTMAX]
    assert outputs_of(two).tolist() == [[0], [1], [0]]
    assert outputs_of(three).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert outputs_of(reals) == pytest.approx(np.array([[-(1.5**0.5)], [0.0], [1.5**0.5]]))
    assert outputs_of(read_classes([[0.2, 0.8], [1, 0]])) == pytest.approx(np.array([[0.8], [0.0]]))
    assert link_of(read_classes([5, 5])) == SOFTMAX


@pytest.mark.tiny
def test_parts_have_weights_of_mean_one():
    rows = LearningSet(np.arange(6.0).reshape(3, 2), np.arange(3.0)[:, None], np.array([0.5, 1.0, 1.5]))
    part = rows.take(np.array([2, 0]))
    assert part.weights == pytest.approx([1.5, 0.5], rel=1e-11)
    assert part.points.tolist() == [[4, 5], [0, 1]]
    assert part.targets.tolist() == [[2], [0]]
    assert len(part) == 2


# ------------------------------------------------------------------ equal rows


cells = st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0, np.nan, -np.nan, 1e300, -5e-324])


@pytest.mark.tiny
@given(st.lists(st.tuples(cells, cells, st.sampled_from([0.0, 1.0]), st.integers(1, 4)), min_size=1, max_size=12))
def test_equal_rows_become_one(table):
    rows = np.array([row[:3] for row in table])
    weights = np.array([row[3] for row in table], dtype=float)
    first, merged = merge_rows(rows[:, :2], rows[:, 2:], weights)
    sums = {}
    for row, weight in zip(rows, weights, strict=True):
        key = tuple("nan" if np.isnan(cell) else cell + 0.0 for cell in row)
        sums[key] = sums.get(key, 0.0) + weight
    found = [tuple("nan" if np.isnan(cell) else cell + 0.0 for cell in row) for row in rows[first]]
    assert dict(zip(found, merged, strict=True)) == sums
    assert len(found) == len(sums)


@pytest.mark.tiny
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12), st.integers(0, 9))
def test_order_of_merged_rows_is_that_of_their_numbers(table, seed):
    rows = np.array(table)
    order = np.random.default_rng(seed).permutation(len(rows))
    one, other = (matrix[merge_rows(matrix, np.zeros((len(rows), 1)), np.ones(len(rows)))[0]] for matrix in
                  (rows, rows[order]))  # fmt: skip
    assert np.array_equal(one, other, equal_nan=True)
    last = np.where(np.isnan(one), np.inf, one)
    assert last.tolist() == sorted(last.tolist())


@pytest.mark.tiny
@pytest.mark.parametrize("factor", [0.001, 7.0, 1e250])
def test_order_of_merged_rows_does_not_depend_on_units(factor):
    rng = np.random.default_rng(0)
    rows, targets, weights = rng.integers(-3, 4, size=(50, 2)) / 3, rng.normal(size=(50, 1)), rng.random(50)
    first, merged = merge_rows(rows, targets, weights)
    again, same = merge_rows(rows * factor, targets, weights)
    assert np.array_equal(first, again)
    assert np.array_equal(merged, same)


@pytest.mark.tiny
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 9))
def test_weights_are_repetition(repeats, seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 0.25, np.nan, -7.0], size=(len(repeats), 2))
    targets = rng.integers(0, 2, size=(len(repeats), 1)).astype(float)
    first, weights = merge_rows(rows, targets, np.array(repeats, dtype=float))
    many = rng.permutation(np.repeat(np.arange(len(repeats)), repeats))
    again, same = merge_rows(rows[many], targets[many], np.ones(len(many)))
    assert np.array_equal(rows[first], rows[many][again], equal_nan=True)
    assert np.array_equal(targets[first], targets[many][again])
    assert np.array_equal(weights, same)


# ------------------------------------------------------------------ rows to validate on


@pytest.mark.tiny
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.floats(0.01, 0.9), st.booleans(), st.integers(0, 99))
def test_validation_rows_are_a_part_of_each_class(labels, fraction, has_labels, seed):
    labels = np.array(labels) if has_labels else np.zeros(len(labels), dtype=int)
    rng = np.random.default_rng(seed)
    rows, held_out = validation_rows(len(labels), labels if has_labels else None, fraction, rng)
    assert sorted([*rows, *held_out]) == list(range(len(labels)))
    assert len(rows) > 0
    assert (len(held_out) > 0) == (len(labels) > 1)
    counts, parts = np.bincount(labels), np.bincount(labels[held_out], minlength=labels.max() + 1)
    if len(held_out) > 1:  # else it may be the one row that must be there
        assert np.all(np.abs(parts - fraction * counts) <= 1.0)
    if counts.max() > 1:
        assert np.all((parts < counts) | (counts == 0))


@pytest.mark.tiny
def test_classes_are_divided_alike():
    labels = np.repeat([0, 1, 2], [100, 40, 8])
    rows, held_out = validation_rows(148, labels, 0.25, np.random.default_rng(0))
    assert np.bincount(labels[held_out]).tolist() == [25, 10, 2]
    assert np.bincount(labels[rows]).tolist() == [75, 30, 6]
    assert not np.array_equal(rows, np.sort(rows))
    other, _ = validation_rows(148, labels, 0.25, np.random.default_rng(1))
    assert not np.array_equal(rows, other)


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 200)), min_size=1, max_size=30),
    st.floats(0.05, 0.9),
    st.integers(0, 99),
)
def test_rows_are_divided_as_a_whole_or_in_two_parts(table, fraction, seed):
    labels, weights = np.array([row[0] for row in table]), np.array([row[1] for row in table], dtype=float)
    sides = divide_rows(weights, labels, fraction, np.random.default_rng(seed))
    total, n_sides = np.zeros(len(table)), np.zeros(len(table))
    for rows, parts in sides:
        assert len(set(rows)) == len(rows)
        total[rows] += parts
        n_sides[rows] += 1
    assert total == pytest.approx(weights)
    is_divided = n_sides == 2
    part_of_class = weights / np.bincount(labels, weights=weights)[labels]
    expected = (part_of_class > 0.05) & (weights * min(fraction, 1 - fraction) >= 1)
    assert np.array_equal(is_divided, expected)
    held_out = np.zeros(len(table))
    held_out[sides[1][0]] = sides[1][1]
    assert held_out[is_divided] == pytest.approx(fraction * weights[is_divided])
    assert len(sides[0][0]) > 0
    assert len(sides[1][0]) > 0 or len(table) == 1


@pytest.mark.tiny
def test_rows_of_average_weight_are_not_divided():
    weights = np.random.default_rng(0).uniform(500, 1500, size=100)  # people that each one stands for
    (rows, _), (held_out, _) = divide_rows(weights, np.arange(100) % 2, 0.25, np.random.default_rng(0))
    assert sorted([*rows, *held_out]) == list(range(100))
    (rows, _), (held_out, _) = divide_rows(np.ones(8), None, 0.25, np.random.default_rng(0))
    assert sorted([*rows, *held_out]) == list(range(8))


# ------------------------------------------------------------------ visits


@pytest.mark.tiny
@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-12])
def test_equal_weights_visit_the_rows_in_turn(weight):
    rows, weights, rng = np.array([5, 2, 9, 0]), np.full(10, weight), np.random.default_rng(0)
    assert np.array_equal(visits(rows, weights, 4, 0, rng), rows)
    assert np.array_equal(visits(rows, weights, 4, 8, rng), rows)
    assert visits(rows, weights, 3, 0, rng).tolist() == [5, 2, 9]
    assert visits(rows, weights, 3, 3, rng).tolist() == [0, 5, 2]


@pytest.mark.tiny
@pytest.mark.parametrize("number", [5, 3, 11])
def test_visits_are_as_many_as_weights_say(number):
    rng = np.random.default_rng(0)
    rows = np.array([7, 1, 4, 3, 0])
    weights = np.array([0.1, 1.0, 99.0, 2.0, 0.5, 99.0, 99.0, 3.4])
    expected = weights * np.isin(np.arange(8), rows) * number / weights[rows].sum()
    counts = np.zeros(8)
    for epoch in range(2000):
        found = visits(rows, weights, number, epoch * number, rng)
        assert len(found) == number
        here = np.bincount(found, minlength=8)
        assert np.all(np.abs(here - expected) < 1)  # no row is far from its due in any pass
        counts += here
    assert counts / 2000 == pytest.approx(expected, abs=0.05)


@pytest.mark.tiny
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=12), st.integers(1, 20), st.integers(0, 99))
def test_visits_are_rows(weights, number, seed):
    rows = np.random.default_rng(seed).permutation(len(weights))
    found = visits(rows, np.array(weights), number, 0, np.random.default_rng(seed))
    assert len(found) == number
    assert set(found) <= set(rows)


@pytest.mark.parametrize("unit", [1.0, 0.3, 1 / 150, 1e-200, 3e250])
def test_equal_weights_are_1_whatever_their_unit(unit):
    assert np.all(with_mean_1(np.full(150, unit)) == 1.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    scaled = with_mean_1(weights * unit)
    np.testing.assert_array_equal(scaled, with_mean_1(weights))
    np.testing.assert_allclose(scaled, weights / weights.mean(), rtol=1e-11)
