"""Every pair of parameters that are not the default: the model is finite, or the error names a parameter."""

import re
import warnings
from itertools import combinations

import numpy as np

from tests.contract.specs import Change, every
from tests.models import answer


def values(spec):
    """Every parameter with each value of it that the spec knows, and what this value needs."""
    found = []
    for name in sorted(spec.parameters):
        known = [*([spec.changes[name]] if name in spec.changes else []), *spec.further.get(name, [])]
        found += [(name, value if isinstance(value, Change) else Change(value)) for value in known]
    return found


def small_table(spec):
    """Rows with a column of few values and some missing cells; targets of at least 0, or two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[:, 3] = np.round(X[:, 3])
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 2.0 * (X[:, 3] == 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, spec.targets(signal - signal.min(), 2)


def refusal(spec, names, settings, error):
    """The pair of parameters that is refused together according to the spec; None if the error must not be.

    The pair is `names`, or one of them with a setting that it needs.
    """
    for pair in sorted(spec.refused, key=lambda pair: set(pair) != names):
        if set(pair) <= set(settings) and re.match(
            rf"(?s)The '({'|'.join(pair)})' parameter of .* instead\.$", str(error)
        ):
            return pair
    return None


@every
def test_pairs_of_parameters_work_together(spec):
    X, y = small_table(spec)
    faults, refused = [], set()
    for (first, one), (second, other) in combinations(values(spec), 2):
        settings = {**one.given, **other.given, first: one.value, second: other.value}
        if first == second:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # such as too few trees for each row to be out of a bag
                found = answer(spec.make(**settings).fit(X, y), X)
            quantiles = np.size(settings.get("quantile"))
            shape = (len(X), 2) if spec.is_classifier else (len(X), quantiles) if quantiles > 1 else (len(X),)
            assert found.shape == shape, f"shape {found.shape}"
            assert np.isfinite(found).all(), "not finite"
        except ValueError as error:
            pair = refusal(spec, {first, second}, settings, error)
            refused.add(pair)
            if pair is None:
                faults.append(f"{settings}: {error!r}")
        except Exception as error:  # whatever it is, with the parameters
            faults.append(f"{settings}: {error!r}")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults])
    assert refused == set(spec.refused)
