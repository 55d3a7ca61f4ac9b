"""Alarms of growing trees: a detector takes in the error of each row that a tree predicts before it learns the row.

detector : (N_DETECTOR,) the state of an ADWIN, then what trees add to it:

- the mean size of the errors of a regressor, and rows in it
- ALARM, 1 from an alarm on until Python has heeded it
- mean error before the change, faded mean of the last errors, and rows in it
"""

from softwood.loops._compile import compiled
from softwood.loops.drift import A_FIRST_BUCKET, A_TOTAL, A_WIDTH, DRIFT, LAST, N_LEVELS, update_adwin
from softwood.loops.stream_layout import DRIFT_DELTA

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


@compiled
def note_error(error, settings, detector):
    """Take in an error from 0 to 1; returns whether there is an alarm: the errors have risen."""
    if settings[DRIFT_DELTA] <= 0.0:
        return False
    detector[N_RECENT] = min(detector[N_RECENT] + 1.0, MEMORY)
    detector[RECENT] += (error - detector[RECENT]) / detector[N_RECENT]
    n, total = 0.0, 0.0
    if detector[LAST] != DRIFT:  # else it starts anew
        n, total = detector[A_WIDTH], detector[A_TOTAL]
    if update_adwin(detector[:N_WINDOW], error) != DRIFT:
        return False
    detector[ALARM] = 1.0
    detector[BEFORE] = (total + error - detector[A_TOTAL]) / (n + 1.0 - detector[A_WIDTH])
    return True


@compiled
def note_class(output, label, settings, detector):
    """`note_error` for class probabilities: 1 if another class has the largest."""
    best = 0
    for k in range(1, output.shape[0]):
        if output[k] > output[best]:
            best = k
    return note_error(0.0 if best == label else 1.0, settings, detector)


@compiled
def note_target(output, target, settings, detector):
    """`note_error` for a real output: the size of its error by the mean of all sizes so far."""
    if settings[DRIFT_DELTA] <= 0.0:
        return False
    size = min(abs(output - target), LARGEST_ERROR)
    detector[N_SIZES] += 1.0
    detector[SIZE] += (size - detector[SIZE]) / detector[N_SIZES]
    return note_error(size / (size + ERRORS * detector[SIZE]) if size > 0.0 else 0.0, settings, detector)
