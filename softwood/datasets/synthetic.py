"""Seeded toy sets in one and two dimensions, small enough to see a whole model at once.

They replace the toy sets of the kernel tree paper (appendix D, figures 3 and 4: three kinds of two-dimensional classes
and three functions of one variable, each with 50 and with 1000 training points and 10 000 test points). The paper does
not say how its sets were generated; these are common choices. As in the paper, the noise is the same everywhere.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.datasets import make_circles, make_moons

from softwood.core.parameters import check_choice, check_count, check_number

_Drawn = tuple[np.ndarray, np.ndarray]
_Part = TypeVar("_Part")


def _seed(rng: np.random.Generator) -> int:
    # scikit-learn takes no Generator
    return int(rng.integers(2**31))


def _moons(n: int, rng: np.random.Generator) -> _Drawn:
    X, y = make_moons(n, random_state=_seed(rng))
    return X, y


def _circles(n: int, rng: np.random.Generator) -> _Drawn:
    X, y = make_circles(n, factor=0.5, random_state=_seed(rng))
    return X, y


def _checkerboard(n: int, rng: np.random.Generator) -> _Drawn:
    X = rng.uniform(-1, 1, size=(n, 2))
    cells = np.floor(2 * X).astype(int)
    return X, cells.sum(axis=1) % 2


def _spirals(n: int, rng: np.random.Generator) -> _Drawn:
    y = _balanced(n, 2, rng)
    # uniform along the arm; the centre, where the arms meet, is left out
    turn = np.sqrt(rng.uniform(0.05, 1, size=n))
    angle = 3 * np.pi * turn + np.pi * y
    return turn[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def _gaussians(n: int, rng: np.random.Generator) -> _Drawn:
    # three classes at the corners of a triangle; only the noise spreads the points of a class
    y = _balanced(n, 3, rng)
    centres = np.array([[-1.0, -0.6], [1.0, -0.6], [0.0, 1.1]])
    return centres[y], y


def _balanced(n: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.arange(n) % n_classes)


def _sine(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x)


def _steps(x: np.ndarray) -> np.ndarray:
    return np.array([-0.5, 1.0, 0.0, -1.0, 0.5])[np.clip((5 * x).astype(int), 0, 4)]


def _ramp(x: np.ndarray) -> np.ndarray:
    return np.clip(4 * x - 2, -1, 1)


# name -> generator, and the default noise, which makes the task neither trivial nor impossible
_CLASSES: dict[str, tuple[Callable[[int, np.random.Generator], _Drawn], float]] = {
    "checkerboard": (_checkerboard, 0.05),
    "circles": (_circles, 0.12),
    "gaussians": (_gaussians, 0.5),
    "moons": (_moons, 0.2),
    "spirals": (_spirals, 0.08),
}
_FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "ramp": (_ramp, 0.2),
    "sine": (_sine, 0.2),
    "steps": (_steps, 0.2),
}

TOY_CLASSIFICATION: tuple[str, ...] = tuple(_CLASSES)
TOY_REGRESSION: tuple[str, ...] = tuple(_FUNCTIONS)


def toy_classification(
    kind: str,
    n_samples: int = 100,
    *,
    noise: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate points of the plane that belong to two or three classes.

    Parameters
    ----------
    kind : {"checkerboard", "circles", "gaussians", "moons", "spirals"}
        The shape of the classes; ``TOY_CLASSIFICATION`` lists all kinds. "gaussians" has three classes, the others two.
    n_samples : int, default=100
        Number of points.
    noise : float or None, default=None
        Standard deviation of the Gaussian noise added to both coordinates after the class is set. None uses the
        default noise of the kind.
    random_state : int, numpy Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes 0, 1, ….

    Examples
    --------
    >>> from softwood.datasets import toy_classification
    >>> X, y = toy_classification("moons", 50, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((50, 2), [0, 1])
    """
    draw, n_samples, noise = _checked("toy_classification", _CLASSES, kind, n_samples, noise)
    rng = np.random.default_rng(random_state)
    X, y = draw(n_samples, rng)
    return X + rng.normal(0, noise, size=X.shape), y.astype(np.int64)


def toy_regression(
    kind: str,
    n_samples: int = 100,
    *,
    noise: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate noisy values of a function on the unit interval.

    Parameters
    ----------
    kind : {"ramp", "sine", "steps"}
        The function; ``TOY_REGRESSION`` lists all kinds. All functions have values from -1 to 1.
    n_samples : int, default=100
        Number of points, uniform on [0, 1).
    noise : float or None, default=None
        Standard deviation of the Gaussian noise added to the values. None uses the default noise of the kind; 0 means
        no noise.
    random_state : int, numpy Generator or None, default=None
        Seed of the random numbers. The same seed gives the same points for any noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Points.
    y : ndarray of shape (n_samples,)
        Values.

    Examples
    --------
    >>> from softwood.datasets import toy_regression
    >>> X, y = toy_regression("steps", 200, noise=0, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 1), [-1.0, -0.5, 0.0, 0.5, 1.0])
    """
    function, n_samples, noise = _checked("toy_regression", _FUNCTIONS, kind, n_samples, noise)
    rng = np.random.default_rng(random_state)
    x = rng.uniform(0, 1, size=n_samples)
    return x[:, None], function(x) + rng.normal(0, noise, size=n_samples)


def _checked(
    caller: str, parts: dict[str, tuple[_Part, float]], kind: str, n_samples: int, noise: float | None
) -> tuple[_Part, int, float]:
    """The part with the name `kind`, the number of points, and the noise, by default that of the part."""
    part, usual = parts[check_choice(caller, "kind", kind, sorted(parts))]
    n_samples = check_count(caller, "n_samples", n_samples)
    return part, n_samples, usual if noise is None else check_number(caller, "noise", noise, low=0.0)
