import re
from dataclasses import dataclass

import numpy as np
import pytest

from softwood import KernelForestRegressor
from softwood.core.parameters import (
    check_choice,
    check_count,
    check_integer,
    check_n_jobs,
    check_number,
    checked,
    or_auto,
    parameter,
    parameter_error,
)


class Owner:
    pass


@pytest.mark.tiny
def test_message_names_parameter_owner_expectation_and_finding():
    error = parameter_error(Owner(), "depth", "an int", "seven")
    assert isinstance(error, ValueError)
    assert str(error) == "The 'depth' parameter of Owner must be an int. Got 'seven' instead."


@pytest.mark.tiny
@pytest.mark.parametrize("value", [0, 0.0, 1.5, np.float32(2), np.int64(3)])
def test_numbers(value):
    found = check_number(Owner(), "x", value, low=0)
    assert found == value
    assert type(found) is float


@pytest.mark.tiny
@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "1", None, True, np.True_, [1], 1j])
def test_not_numbers(value):
    with pytest.raises(ValueError, match=r"'x' parameter of Owner must be a number in the range \[0.0, inf\)"):
        check_number(Owner(), "x", value, low=0.0)


@pytest.mark.tiny
def test_ends_of_ranges():
    assert check_number(Owner(), "x", 1.0, low=0.0, high=1.0) == 1.0
    with pytest.raises(ValueError, match=r"in the range \(0.0, 1.0\]. Got 0.0"):
        check_number(Owner(), "x", 0.0, low=0.0, open_low=True, high=1.0)
    with pytest.raises(ValueError, match=r"in the range \[0.0, 1.0\]. Got 1.1"):
        check_number(Owner(), "x", 1.1, low=0.0, high=1.0)


@pytest.mark.tiny
def test_integers():
    assert check_integer(Owner(), "n", np.int32(4), low=1) == 4
    assert check_integer(Owner(), "n", None, low=1, or_none=True) is None
    for value in (0, 2.0, "2", True, None, np.nan):
        with pytest.raises(ValueError, match=r"'n' parameter of Owner must be an int in the range \[1, inf\)\. Got"):
            check_integer(Owner(), "n", value, low=1)
    with pytest.raises(ValueError, match=r"an int in the range \[2, 255\] or None. Got 256"):
        check_integer(Owner(), "n", 256, low=2, high=255, or_none=True)


@pytest.mark.tiny
def test_choices():
    assert check_choice(Owner(), "c", "a", ("a", None)) == "a"
    assert check_choice(Owner(), "c", None, ("a", None)) is None
    for value in ("b", 1, np.array(["a", "a"])):
        with pytest.raises(ValueError, match=r"'c' parameter of Owner must be one of 'a', None\. Got"):
            check_choice(Owner(), "c", value, ("a", None))


@pytest.mark.tiny
def test_numbers_of_jobs():
    assert check_n_jobs(Owner(), None) is None
    for value in (1, -1, np.int64(2)):
        assert check_n_jobs(Owner(), value) == value
    for value in (0, "x", 1.5, True, [1], np.nan):
        with pytest.raises(ValueError, match=r"'n_jobs' parameter of Owner must be an int other than 0, or None. Got"):
            check_n_jobs(Owner(), value)


@pytest.mark.tiny
def test_values_or_auto():
    check = or_auto(check_number)
    assert check(Owner(), "x", "auto", low=0.0) is None
    found = check(Owner(), "x", 3, low=0.0)
    assert (found, type(found)) == (3.0, float)
    assert or_auto(check_count)(Owner(), "n", np.int32(4)) == 4
    message = "The 'x' parameter of Owner must be a number in the range [0.0, inf), or 'auto'. Got {!r} instead."
    for value in (-1.0, None, "Auto", "x", np.nan, True, ["auto"]):
        with pytest.raises(ValueError, match=re.escape(message.format(value)) + "$"):
            check(Owner(), "x", value, low=0.0)
    # words of the value are not taken for those of the message
    with pytest.raises(ValueError, match=r"or 'auto'\. Got 'a\. Got b' instead\.$"):
        check(Owner(), "x", "a. Got b", low=0.0)


@dataclass(kw_only=True)
class Model:
    rate: float = parameter(0.5, check_number, low=0.0)
    size: int = parameter(3, check_count)
    other: object = None


@pytest.mark.tiny
def test_fields_with_checks():
    assert (Model().rate, Model().size, Model.rate) == (0.5, 3, 0.5)
    model = Model(rate=1, size=np.int32(4), other="as it is")
    found = checked(model)
    assert (found.rate, found.size, found.other) == (1.0, 4, "as it is")
    assert (type(found.rate), type(found.size)) == (float, int)
    assert (type(model.rate), type(model.size)) == (int, np.int32)  # nothing is changed
    for name, value in (("rate", -1.0), ("size", 0), ("size", 2.0)):
        with pytest.raises(ValueError, match=f"'{name}' parameter of Model must be .* Got {value}"):
            checked(Model(**{name: value}))


def test_a_wrong_number_of_jobs_in_prediction():
    X = np.arange(8.0).reshape(4, 2)
    model = KernelForestRegressor(n_estimators=2, bandwidth=0).fit(X, X[:, 0])
    for value in ("x", 0, 1.5):
        with pytest.raises(ValueError, match="'n_jobs' parameter of SoftForest must be an int other than 0, or None"):
            model.set_params(n_jobs=value).predict(X)
