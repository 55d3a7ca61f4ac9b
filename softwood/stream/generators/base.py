"""What all streams share: blocks, one by one, and back to the first sample."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from softwood.core.parameters import check_count, check_integer

# samples made at once where they are asked for one by one
_BLOCK = 256


class Stream(ABC):
    """Samples in an order, made when they are asked for.

    The same seed gives exactly the same samples, whatever the sizes of the blocks in which they are taken. A stream
    that is pickled in the middle goes on where it was. Without a seed every stream is another one, but `restart`
    gives the same samples again.

    A subclass sets the attributes, calls `_open` at the end of its constructor, and writes `_make`.

    Attributes
    ----------
    n_features : int
        Number of features.
    feature_names : tuple of str
        Names of the features.
    classes : ndarray of shape (n_classes,)
        The label that each code in ``y`` stands for.
    n_samples : int or None
        Length of the stream. None if it never ends.
    position : int
        Number of samples made so far.
    """

    n_features: int
    feature_names: tuple[str, ...]
    classes: np.ndarray
    n_samples: int | None = None
    seed: int | None

    # data rather than settings: left out where the stream is printed
    _unprinted: tuple[str, ...] = ()

    def _open(self, n_generators: int) -> None:
        """Draw what depends on the seed, and go to the first sample.

        Parameters
        ----------
        n_generators : one for each purpose, so that what a row takes from one does not move the others
        """
        check_integer(self, "seed", self.seed, low=0, or_none=True)
        self._entropy = np.random.SeedSequence(self.seed).entropy
        self._n_generators = n_generators
        self.restart()

    def restart(self) -> None:
        """Go back to the first sample."""
        self._position = 0
        children = np.random.SeedSequence(self._entropy).spawn(self._n_generators)
        self._generators = [np.random.Generator(np.random.PCG64(child)) for child in children]
        self._rewind()

    def _rewind(self) -> None:
        """Bring what changes along the stream back to its start; new arrays, never the old ones changed."""
        return

    @abstractmethod
    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next `n` samples from `position` on. From every generator, a fixed number of draws for each row."""

    @property
    def position(self) -> int:
        """Number of samples made so far."""
        return self._position

    def take(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next samples, from where the last call stopped.

        Parameters
        ----------
        n : int
            Number of samples. Fewer come at the end of a stream that ends.

        Returns
        -------
        X : ndarray of shape (n, n_features), float64
            The samples, in C order.
        y : ndarray of shape (n,), int64
            Codes of the classes.
        """
        n = check_count(self, "n", n, low=0)
        if self.n_samples is not None:
            n = min(n, self.n_samples - self._position)
        X, y = self._make(n)
        self._position += n
        return X, y

    def blocks(self, n_samples: int, block_size: int = 1000) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The next samples in blocks, from where the last call stopped.

        Parameters
        ----------
        n_samples : int
            Number of samples in all. Fewer come at the end of a stream that ends.
        block_size : int, default=1000
            Number of samples in each block but the last.

        Returns
        -------
        iterator of (X, y)
            Samples of shape (block_size, n_features), and codes of their classes, (block_size,).
        """
        n_samples = check_count(self, "n_samples", n_samples, low=0)
        return self._take_blocks(n_samples, check_count(self, "block_size", block_size))

    def _take_blocks(self, left: int, block_size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        while left > 0:
            X, y = self.take(min(block_size, left))
            if len(y) == 0:
                return
            yield X, y
            left -= len(y)

    def __iter__(self) -> Iterator[tuple[dict[str, float], Any]]:
        """One by one from the first sample on, as river's data sets: a dict by feature name, and the label.

        Every iterator starts from the beginning and leaves `position` as it is.
        """
        stream = copy.copy(self)
        stream.restart()
        labels = self.classes.tolist()
        while True:
            X, y = stream.take(_BLOCK)
            if len(y) == 0:
                return
            for row, code in zip(X.tolist(), y.tolist(), strict=True):
                yield dict(zip(self.feature_names, row, strict=True)), labels[code]

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters.values()
        shown = [
            f"{p.name}={getattr(self, p.name)!r}"
            for p in parameters
            if p.name not in self._unprinted and repr(getattr(self, p.name)) != repr(p.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def numbered_names(n_features: int) -> tuple[str, ...]:
    """Names of features that have none: x0, x1 and so on."""
    return tuple(f"x{j}" for j in range(n_features))
