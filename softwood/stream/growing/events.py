"""Events in the life of a growing tree: splits, replaced tests, and alarms."""

from __future__ import annotations

from dataclasses import dataclass

# By the numbers that loops write.
SPLIT_KINDS = ("split", "replace")
# By the numbers in saved states.
DRIFT_KINDS = ("drift", "restart")
# Alarms that a log keeps; up to twice as many until it is cleaned up.
MOST_DRIFTS = 5000


@dataclass(frozen=True)
class SplitEvent:
    """An entry of the audit log: a leaf became an inner node, or a test was replaced.

    Attributes
    ----------
    kind : {"split", "replace"}
        Whether a leaf was split or a test was replaced.
    n_samples : int
        Number of rows that the tree had learned.
    node : int
        Number of the node.
    feature : int
        Number of the column of the encoded table.
    threshold : float
        Rows with values up to this pass the test.
    merit : float
        Merit of the test.
    second_merit : float
        Merit of the best test on another feature; of the test before, if it was replaced.
    bound : float
        Hoeffding bound for the difference of merits.
    weight_seen : float
        Weight that the decision rests on.
    """

    kind: str
    n_samples: int
    node: int
    feature: int
    threshold: float
    merit: float
    second_merit: float
    bound: float
    weight_seen: float


@dataclass(frozen=True)
class DriftEvent:
    """An alarm of a model's detectors: its errors have risen.

    Attributes
    ----------
    kind : {"drift", "restart", "warning"}
        For a single tree, "drift" (the tree continues) or "restart" (the tree has restarted from one leaf). For a
        forest, "warning" (a spare tree has started to learn) or "drift" (the spare tree has replaced the tree).
    n_samples : int
        Number of rows that the model had learned.
    tree : int
        Number of the tree. 0 for a single one.
    """

    kind: str
    n_samples: int
    tree: int = 0


def keep_last(drifts: list[DriftEvent]) -> None:
    """Forget the oldest alarms of a log that has become long."""
    if len(drifts) > 2 * MOST_DRIFTS:
        del drifts[:-MOST_DRIFTS]
