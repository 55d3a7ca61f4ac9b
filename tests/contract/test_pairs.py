"""Every pair of parameters that are not the default: the model is finite, or the error names a parameter."""

import re
import warnings
from itertools import combinations

import numpy as np

from tests.contract.specs import Change, every
from tests.models import answer

AT_ONCE = 5  # values that are not the default in a fit: few enough that one of them rarely hides what two others do


def values(spec):
    """Every parameter with each value of it that the spec knows, and what this value needs."""
    found = []
    for name in sorted(spec.parameters):
        known = [*([spec.changes[name]] if name in spec.changes else []), *spec.further.get(name, [])]
        found += [(name, value if isinstance(value, Change) else Change(value)) for value in known]
    return found


def together(chosen):
    """The settings of these values; what a value needs gives way to a value of its own."""
    given = {name: value for _, change in chosen for name, value in change.given.items()}
    return given | {name: change.value for name, change in chosen}


def fits(spec):
    """Names and settings such that each pair of values is in one of the fits.

    Values of which two might be refused together, or of which one sets what the other needs, are tried as a pair.
    """
    known = values(spec)
    left = {(i, j) for i, j in combinations(range(len(known)), 2) if known[i][0] != known[j][0]}

    def free(i, j):
        (first, one), (second, other) = known[i], known[j]
        names, more = {first, *one.given}, {second, *other.given}
        return not names & more and not any(
            (a in names and b in more) or (b in names and a in more) for a, b in spec.refused
        )

    friends = {(i, j) for i, j in left if free(i, j)}
    for pair in combinations(range(len(known)), 2):
        if pair not in left:
            continue
        chosen = set(pair)
        while pair in friends and len(chosen) < AT_ONCE:
            new = {
                k: sum((min(i, k), max(i, k)) in left for i in chosen)
                for k in range(len(known))
                if all((min(i, k), max(i, k)) in friends for i in chosen)
            }
            best = max(new, key=new.get, default=None)
            if best is None or not new[best]:
                break
            chosen.add(best)
        left -= set(combinations(sorted(chosen), 2))
        yield {known[i][0] for i in chosen}, together([known[i] for i in sorted(chosen)])
    assert not left


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
    for names, settings in fits(spec):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # such as too few trees for each row to be out of a bag
                found = answer(spec.make(**settings).fit(X, y), X)
            quantiles = np.size(settings.get("quantile"))
            shape = (len(X), 2) if spec.is_classifier else (len(X), quantiles) if quantiles > 1 else (len(X),)
            assert found.shape == shape, f"shape {found.shape}"
            assert np.isfinite(found).all(), "not finite"
        except ValueError as error:
            pair = refusal(spec, names, settings, error)
            refused.add(pair)
            if pair is None:
                faults.append(f"{settings}: {error!r}")
        except Exception as error:  # whatever it is, with the parameters
            faults.append(f"{settings}: {error!r}")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults])
    assert refused == set(spec.refused)
