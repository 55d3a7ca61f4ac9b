"""Several models of boosting that grow together, and whose mean is the result."""

from __future__ import annotations

import numpy as np

from softwood.core.steps import Best
from softwood.kernel.rounds.rounds import Boosted, Rounds


class RoundsOfMembers:
    """The rounds of models that differ in the rows and columns drawn for their trees, and may differ in their settings.

    A round adds the trees of one round to each of them. Losses, early stopping and scores are those of the mean.

    Parameters
    ----------
    members : `Rounds` of the same rows with different seeds, without any tree so far; those with the same rules share
        their scratch space
    result : where the trees of all are stored, those of a round side by side
    """

    def __init__(self, members: list[Rounds], result: Boosted) -> None:
        self.members, self.result = members, result

    @property
    def best(self) -> Best[int]:
        """The round with the smallest loss so far."""
        return self.members[0].best

    def begin(self) -> None:
        """Record the losses of the start values."""
        self._record()

    def run(self) -> dict[str, float]:
        """Add the trees of a round to each member; returns the losses after it."""
        for member in self.members:
            n_before = len(member.result.trees)
            member.grow()
            for other in self.members:  # they grow one after the other
                if other.rules is member.rules and not other.growers:
                    other.share_space(member)
            self.result.trees += member.result.trees[n_before:]
            self.result.output += member.result.output[n_before:]
        return self._record()

    def _record(self) -> dict[str, float]:
        first, n = self.members[0], len(self.members)
        raw = sum((member.raw for member in self.members[1:]), first.raw) / n
        held_out = [member.raw_validation for member in self.members if member.raw_validation is not None]
        validation = np.mean(held_out, axis=0) if held_out else None
        line = first.record(raw, validation)
        for name in ("train_losses", "validation_losses"):
            getattr(self.result, name)[:] = getattr(first.result, name)
        return line


def member_seed(seed: int, number: int) -> int:
    """Seed of one of several models; that of the first is the seed of a single one."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number, 4]).generate_state(1)[0])
