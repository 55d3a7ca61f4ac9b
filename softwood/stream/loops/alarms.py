"""Alarms of growing trees: a detector takes in the error of each row that a tree predicts before it learns the row.

tree : `softwood.stream.loops.layout.TreeNodes`; its detector (N_DETECTOR,) is the state of an ADWIN and then:

- the mean size of the errors of a regressor, and rows in it
- ALARM, 1 from an alarm on until Python has handled it
- mean error before the change, faded mean of the last errors, and rows in it
"""

from softwood.stream.loops.drift import A_FIRST_BUCKET, A_TOTAL, A_WIDTH, DRIFT, LAST, N_LEVELS, update_adwin
from softwood.stream.loops.layout import N_EVENTS, Learned

# Buckets of each size in the window.
N_BUCKETS = 5
N_WINDOW = A_FIRST_BUCKET + 2 * N_LEVELS * (N_BUCKETS + 1)
SIZE, N_SIZES, ALARM, BEFORE, RECENT, N_RECENT = range(N_WINDOW, N_WINDOW + 6)
N_DETECTOR = N_WINDOW + 6
# Rows after which an error has faded to about a third. The window after an alarm is no measure of the present: soon
# after a change, most of it is still from before.
MEMORY = 50.0
# An error counts as it compares with so many mean errors.
ERRORS = 3.0
# Larger errors count as this one.
LARGEST_ERROR = 1e300


def note_error(error, tree):
    """Take in an error from 0 to 1; returns whether there is an alarm: the errors have risen."""
    if tree.settings.drift_delta <= 0.0:
        return False
    tree.detector[N_RECENT] = min(tree.detector[N_RECENT] + 1.0, MEMORY)
    tree.detector[RECENT] += (error - tree.detector[RECENT]) / tree.detector[N_RECENT]
    n, total = 0.0, 0.0
    if tree.detector[LAST] != DRIFT:  # else it restarts
        n, total = tree.detector[A_WIDTH], tree.detector[A_TOTAL]
    if update_adwin(tree.detector, error) != DRIFT:
        return False
    tree.detector[ALARM] = 1.0
    tree.detector[BEFORE] = (total + error - tree.detector[A_TOTAL]) / (n + 1.0 - tree.detector[A_WIDTH])
    return True


def note_class(outputs, i, label, tree):
    """`note_error` for a row of class probabilities: 1 if another class has the largest."""
    if tree.settings.drift_delta <= 0.0:
        return False
    best = 0
    for k in range(1, outputs.shape[1]):
        if outputs[i, k] > outputs[i, best]:
            best = k
    return note_error(0.0 if best == label else 1.0, tree)


def note_target(output, target, tree):
    """`note_error` for a real output: the size of its error by the mean of all sizes so far."""
    if tree.settings.drift_delta <= 0.0:
        return False
    size = min(abs(output - target), LARGEST_ERROR)
    tree.detector[N_SIZES] += 1.0
    tree.detector[SIZE] += (size - tree.detector[SIZE]) / tree.detector[N_SIZES]
    return note_error(size / (size + ERRORS * tree.detector[SIZE]) if size > 0.0 else 0.0, tree)


def learned(n_rows, tree):
    """What a loop hands back that has learned the rows before `n_rows`: a `Learned`."""
    is_alarm = tree.settings.drift_delta > 0.0 and tree.detector[ALARM] > 0.0
    return Learned(n_rows, is_alarm, tree.counters[N_EVENTS])
