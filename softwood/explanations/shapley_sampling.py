"""Shapley values of any model by evaluating it: over all sets of columns if these are few, else over random orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
from joblib import effective_n_jobs

from softwood.core.threads import Threads
from softwood.explanations.shapley_model import Points, used_columns
from softwood.fitted import FittedModel

# Largest number of columns all of whose sets are evaluated.
MOST_ENUMERATED = 20
# Largest numbers of encoded rows, and of their cells, that the model is evaluated on at once.
_MOST_POINTS, _MOST_CELLS = 2**14, 2**22


@dataclass(frozen=True, eq=False)
class Game:
    """Outputs of a model for a row of which some columns are present.

    Attributes
    ----------
    known : the model;  players : numbers of the columns that it may depend on
    background : encoded rows that absent columns are taken from, or None if they are missing values
    """

    known: FittedModel
    players: np.ndarray
    background: Points | None

    @property
    def n_background(self) -> int:
        """Number of background rows, 1 without any."""
        return 1 if self.background is None else len(self.background[0])

    def outputs(self, row: Points, present: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Outputs for sets of present players, (n_sets, n_outputs).

        Parameters
        ----------
        row : one encoded row, and the half-widths of its cells or None
        present : (n_sets, n_players) bool
        others : (n_sets,) numbers of the background rows that the absent players are taken from
        """
        column = np.full(len(self.known.columns.inputs), len(self.players))  # of `padded`; a last one for other columns
        column[self.players] = np.arange(len(self.players))
        places = column[self.known.columns.source]
        size = max(1, min(_MOST_POINTS, _MOST_CELLS // max(1, len(places))))
        parts = []
        for begin in range(0, len(present), size):
            part = slice(begin, begin + size)
            padded = np.pad(present[part], ((0, 0), (0, 1)))
            mask = padded[:, places]
            absent, cells = np.nan, None
            if self.background is not None:
                absent = self.background[0][others[part]]
                cells = None if self.background[1] is None else self.background[1][others[part]]
            widths = row[1] if cells is None or row[1] is None else np.where(mask, row[1], cells)
            if widths is not None:
                widths = np.broadcast_to(widths, mask.shape)
            parts.append(self.known.raw(np.where(mask, row[0], absent), widths))
        return np.concatenate(parts)


def can_enumerate(n_players: int, n_background: int, n_samples: int) -> bool:
    """Whether all sets of players need no more evaluations of the model than `n_samples` orders of the players do."""
    return n_players <= MOST_ENUMERATED and n_background * 2**n_players <= n_samples * (n_players + 1)


def enumerated_values(
    known: FittedModel, rows: Points, background: Points | None, interactions: bool, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Exact values by the definition: all sets of columns. Arguments and results are those of `exact_values`."""
    game = Game(known, used_columns(known), background)
    n_players = len(game.players)
    sets = (np.arange(2**n_players)[:, None] >> np.arange(n_players)) % 2 == 1

    def of_row(row: Points) -> tuple[np.ndarray, np.ndarray | None]:
        others = np.arange(game.n_background)
        outputs = game.outputs(row, np.repeat(sets, len(others), axis=0), np.tile(others, len(sets)))
        worth = outputs.reshape(len(sets), len(others), -1).mean(axis=1)
        return _by_definition(worth, sets), _pairs_by_definition(worth, sets) if interactions else None

    found = _each_row(of_row, rows, n_jobs)
    n, p, q = len(rows[0]), len(known.columns.inputs), known.outputs.n_scores
    values = np.zeros((n, p, q))
    pairs = np.zeros((n, p, p, q)) if interactions else None
    for i, (own, own_pairs) in enumerate(found):
        values[i, game.players] = own
        if pairs is not None:
            pairs[i][np.ix_(game.players, game.players)] = own_pairs
    return values, pairs


def sampled_values(
    known: FittedModel,
    rows: Points,
    background: Points | None,
    n_samples: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Values by random orders of the columns, each also taken in reverse, and their standard errors.

    An order adds the columns one after the other, and each change of the outputs belongs to the column that was added.
    An order and its reverse are one observation. Every background row is used equally often, so that values and base
    value add up to the prediction. All rows have the same orders.

    Returns
    -------
    values, standard errors : (n_rows, n_columns, n_outputs)
    """
    game = Game(known, used_columns(known), background)
    n_players = len(game.players)
    n_pairs = -(-n_samples // (2 * game.n_background)) * game.n_background
    orders = np.argsort(rng.random((n_pairs, n_players)), axis=1)
    both = np.stack([orders, orders[:, ::-1]], axis=1)  # (n_pairs, 2, n_players)
    place = np.argsort(both, axis=2)  # of each player in the order
    others = np.arange(n_pairs) % game.n_background
    size = max(1, _MOST_POINTS // (2 * (n_players + 1)))

    def of_row(row: Points) -> tuple[np.ndarray, np.ndarray]:
        parts = []
        for begin in range(0, n_pairs, size):
            own = place[begin : begin + size]
            present = own[:, :, None, :] < np.arange(n_players + 1)[:, None]  # after 0, 1, ... additions
            behind = np.repeat(others[begin : begin + size], 2 * (n_players + 1))
            outputs = game.outputs(row, present.reshape(-1, n_players), behind).reshape(*present.shape[:3], -1)
            parts.append(np.take_along_axis(np.diff(outputs, axis=2), own[..., None], axis=2).mean(axis=1))
        changes = np.concatenate(parts)
        return changes.mean(axis=0), changes.std(axis=0, ddof=1) / np.sqrt(n_pairs)

    found = _each_row(of_row, rows, n_jobs)
    values, errors = np.zeros((2, len(rows[0]), len(known.columns.inputs), known.outputs.n_scores))
    for i, (own, own_errors) in enumerate(found):
        values[i, game.players], errors[i, game.players] = own, own_errors
    return values, errors


def _each_row(of_row: Callable[[Points], tuple], rows: Points, n_jobs: int | None) -> list[tuple]:
    singles = [(rows[0][[i]], None if rows[1] is None else rows[1][[i]]) for i in range(len(rows[0]))]
    with Threads(effective_n_jobs(n_jobs)) as threads:
        return list(threads.map(lambda i: of_row(singles[i]), len(singles)))


def _by_definition(worth: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Values from the worths (n_sets, n_outputs) of all sets, (n_players, n_outputs)."""
    n_players, size = sets.shape[1], sets.sum(axis=1)
    out = np.empty((n_players, worth.shape[1]))
    for i in range(n_players):
        without = np.flatnonzero(~sets[:, i])
        chance = np.array([_chance(s, n_players) for s in size[without].tolist()])
        out[i] = chance @ (worth[without + 2**i] - worth[without])
    return out


def _pairs_by_definition(worth: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Interactions from the worths of all sets, (n_players, n_players, n_outputs); a line adds up to a value."""
    n_players, size = sets.shape[1], sets.sum(axis=1)
    out = np.zeros((n_players, n_players, worth.shape[1]))
    for i in range(n_players):
        for j in range(i):
            without = np.flatnonzero(~sets[:, i] & ~sets[:, j])
            chance = np.array([_chance(s, n_players - 1) for s in size[without].tolist()])
            both = worth[without + 2**i + 2**j] - worth[without + 2**i] - worth[without + 2**j] + worth[without]
            out[i, j] = out[j, i] = 0.5 * (chance @ both)
    diagonal = np.arange(n_players)
    out[diagonal, diagonal] = _by_definition(worth, sets) - out.sum(axis=1)
    return out


def _chance(size: int, n_players: int) -> float:
    """Probability that exactly a given set of this size comes before a player in a random order."""
    return factorial(size) * factorial(n_players - size - 1) / factorial(n_players)
