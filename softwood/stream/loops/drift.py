"""Drift detectors: the next value of a stream, and whether the values have changed.

The whole state of a detector is one vector of floats, so that it is copied, saved and handed over as it is. Its first
numbers are the settings, then comes what is known of the values.

state : the vector of a detector
x : the next value, a finite number

Returns of all updates: NOTHING, WARNING or DRIFT. After an alarm a detector restarts with the next value.
"""

import math

import numpy as np

NOTHING, WARNING, DRIFT = 0, 1, 2
# which changes of the mean give an alarm
UP, DOWN, BOTH = 0, 1, 2

# of all detectors: what the last update returned, and alarms so far
LAST, N_ALARMS = 0, 1

# ADWIN: settings, and what is known of the window. `N_LEVELS` levels hold buckets of 1, 2, 4, ... values, the newest
# level first and the oldest bucket of a level first; of each bucket the total and the sum of squares about its mean.
A_DELTA, A_CLOCK, A_BUCKETS, A_LEAST, A_GRACE, A_MODE = range(2, 8)
A_TOTAL, A_SQUARES, A_WIDTH, A_TICK, A_LEVELS = range(8, 13)
A_COUNTS = 13
N_LEVELS = 48
A_FIRST_BUCKET = A_COUNTS + N_LEVELS

# Page-Hinkley: settings, and running numbers
P_LEAST, P_DELTA, P_THRESHOLD, P_FADING, P_MODE = range(2, 7)
P_N, P_MEAN, P_UP, P_DOWN, P_LOWEST, P_HIGHEST = range(7, 13)
N_PAGE_HINKLEY = 13

# DDM: settings, and running numbers
D_LEAST, D_WARNING, D_DRIFT = range(2, 5)
D_N, D_MEAN, D_LOWEST_MEAN, D_LOWEST_DEVIATION, D_LOWEST = range(5, 10)
N_DDM = 10


def bucket_place(state, level, k):
    """Place of the total of a bucket; its squares are next to it."""
    return A_FIRST_BUCKET + 2 * (level * (int(state[A_BUCKETS]) + 1) + k)


def drop_buckets(state, level, n):
    """Remove the `n` oldest buckets of a level."""
    count = int(state[A_COUNTS + level])
    for k in range(count - n):
        to, of = bucket_place(state, level, k), bucket_place(state, level, k + n)
        state[to] = state[of]
        state[to + 1] = state[of + 1]
    state[A_COUNTS + level] = count - n


def add_to_window(state, x):
    """Add a value to ADWIN's window as a bucket of its own, and unite buckets of levels that are too full."""
    at = bucket_place(state, 0, int(state[A_COUNTS]))
    state[at] = x
    state[at + 1] = 0.0
    state[A_COUNTS] += 1.0
    state[A_LEVELS] = max(state[A_LEVELS], 1.0)
    before = state[A_WIDTH]
    state[A_WIDTH] = before + 1.0
    if before > 0.0:
        away = x - state[A_TOTAL] / before
        state[A_SQUARES] += before * away * away / state[A_WIDTH]
    state[A_TOTAL] += x
    most = state[A_BUCKETS]
    size = 1.0
    for level in range(N_LEVELS - 1):
        if state[A_COUNTS + level] <= most:
            break
        one, two = bucket_place(state, level, 0), bucket_place(state, level, 1)
        apart = (state[one] - state[two]) / size
        new = bucket_place(state, level + 1, int(state[A_COUNTS + level + 1]))
        state[new] = state[one] + state[two]
        state[new + 1] = state[one + 1] + state[two + 1] + 0.5 * size * apart * apart
        state[A_COUNTS + level + 1] += 1.0
        state[A_LEVELS] = max(state[A_LEVELS], level + 2.0)
        drop_buckets(state, level, 2)
        size *= 2.0


def forget_oldest(state):
    """Take the oldest bucket out of ADWIN's window."""
    level = int(state[A_LEVELS]) - 1
    size = math.pow(2.0, level)
    at = bucket_place(state, level, 0)
    total, squares = state[at], state[at + 1]
    state[A_WIDTH] -= size
    state[A_TOTAL] -= total
    away = total / size - state[A_TOTAL] / state[A_WIDTH]
    state[A_SQUARES] -= squares + size * state[A_WIDTH] * away * away / (size + state[A_WIDTH])
    drop_buckets(state, level, 1)
    while state[A_LEVELS] > 1.0 and state[A_COUNTS + int(state[A_LEVELS]) - 1] == 0.0:
        state[A_LEVELS] -= 1.0


def has_cut(state):
    """Whether ADWIN's window has an old part whose mean differs from that of the newer rest."""
    least = state[A_LEAST]
    variance = max(0.0, state[A_SQUARES] / state[A_WIDTH])
    log_term = math.log(2.0 * math.log(state[A_WIDTH]) / state[A_DELTA])
    n_old, n_new, old, new = 0.0, state[A_WIDTH], 0.0, state[A_TOTAL]
    size = math.pow(2.0, state[A_LEVELS])
    for level in range(int(state[A_LEVELS]) - 1, -1, -1):
        size *= 0.5
        for k in range(int(state[A_COUNTS + level])):
            total = state[bucket_place(state, level, k)]
            n_old += size
            n_new -= size
            old += total
            new -= total
            if n_old < least or n_new < least:
                continue
            m = 1.0 / (n_old - least + 1.0) + 1.0 / (n_new - least + 1.0)
            bound = math.sqrt(2.0 * m * variance * log_term) + 2.0 / 3.0 * log_term * m
            if abs(old / n_old - new / n_new) > bound:
                return True
    return False


def clear_adwin(state):
    """Forget the window; settings and the number of alarms stay."""
    for k in range(A_TOTAL, A_FIRST_BUCKET):
        state[k] = 0.0
    state[LAST] = NOTHING


def update_adwin(state, x):
    """Adaptive windowing (Bifet and Gavaldà 2007): a window loses its old part when the mean of that differs."""
    if state[LAST] == DRIFT:
        clear_adwin(state)
    add_to_window(state, x)
    state[A_TICK] += 1.0
    if math.floor(state[A_TICK] / state[A_CLOCK]) * state[A_CLOCK] != state[A_TICK] or state[A_WIDTH] <= state[A_GRACE]:
        return NOTHING
    before = state[A_TOTAL] / state[A_WIDTH]
    is_cut = False
    while state[A_WIDTH] > 1.0 and has_cut(state):
        is_cut = True
        forget_oldest(state)
    if not is_cut:
        return NOTHING
    risen = state[A_TOTAL] / state[A_WIDTH] > before
    if (state[A_MODE] == UP and not risen) or (state[A_MODE] == DOWN and risen):
        return NOTHING  # the window continues without its old part
    state[LAST] = DRIFT
    state[N_ALARMS] += 1.0
    return DRIFT


def clear_page_hinkley(state):
    """Forget the values; settings and the number of alarms stay."""
    for k in range(P_N, P_LOWEST):
        state[k] = 0.0
    state[P_LOWEST] = np.inf
    state[P_HIGHEST] = -1.0
    state[LAST] = NOTHING


def update_page_hinkley(state, x):
    """Page's test (1954): sums of differences from the mean so far, less what is tolerated, leave their range."""
    if state[LAST] == DRIFT:
        clear_page_hinkley(state)
    state[P_N] += 1.0
    state[P_MEAN] += (x - state[P_MEAN]) / state[P_N]
    away = x - state[P_MEAN]
    state[P_UP] = state[P_FADING] * state[P_UP] + away - state[P_DELTA]
    state[P_DOWN] = state[P_FADING] * state[P_DOWN] + away + state[P_DELTA]
    state[P_LOWEST] = min(state[P_LOWEST], state[P_UP])
    state[P_HIGHEST] = max(state[P_HIGHEST], state[P_DOWN])
    if state[P_N] < state[P_LEAST]:
        return NOTHING
    rises = state[P_UP] - state[P_LOWEST] > state[P_THRESHOLD]
    falls = state[P_HIGHEST] - state[P_DOWN] > state[P_THRESHOLD]
    if (rises and state[P_MODE] != DOWN) or (falls and state[P_MODE] != UP):
        state[LAST] = DRIFT
        state[N_ALARMS] += 1.0
        return DRIFT
    return NOTHING


def clear_ddm(state):
    """Forget the errors; settings and the number of alarms stay."""
    for k in range(D_N, D_LOWEST):
        state[k] = 0.0
    state[D_LOWEST] = np.inf
    state[LAST] = NOTHING


def update_ddm(state, x):
    """Gama et al. (2004): the rate of errors rises by several standard deviations above the lowest so far."""
    if state[LAST] == DRIFT:
        clear_ddm(state)
    state[D_N] += 1.0
    state[D_MEAN] += (x - state[D_MEAN]) / state[D_N]
    mean = state[D_MEAN]
    if state[D_N] <= state[D_LEAST]:
        return NOTHING
    deviation = math.sqrt(max(0.0, mean * (1.0 - mean)) / state[D_N])
    if mean + deviation <= state[D_LOWEST]:
        state[D_LOWEST_MEAN] = mean
        state[D_LOWEST_DEVIATION] = deviation
        state[D_LOWEST] = mean + deviation
    found = NOTHING
    if mean + deviation > state[D_LOWEST_MEAN] + state[D_DRIFT] * state[D_LOWEST_DEVIATION]:
        found = DRIFT
        state[N_ALARMS] += 1.0
    elif mean + deviation > state[D_LOWEST_MEAN] + state[D_WARNING] * state[D_LOWEST_DEVIATION]:
        found = WARNING
    state[LAST] = found
    return found


def scan_adwin(state, values, out):
    """Update with values (n,) one after the other; `out` (n,) int64 gets what each update returned."""
    for i in range(values.shape[0]):
        out[i] = update_adwin(state, values[i])


def scan_page_hinkley(state, values, out):
    """As `scan_adwin`."""
    for i in range(values.shape[0]):
        out[i] = update_page_hinkley(state, values[i])


def scan_ddm(state, values, out):
    """As `scan_adwin`."""
    for i in range(values.shape[0]):
        out[i] = update_ddm(state, values[i])
