"""Columns of the arrays in which growing trees are held.

A tree that grows on a stream is a handful of arrays with room to spare, so that a call takes few arguments and the
whole state can be saved as it is.

nodes : (capacity, N_NODE_INTS) int64
numbers : (capacity, N_NODE_NUMBERS) float64
slots : (n_slots, 2 + n_outputs) int64; a slot is room for the statistics of one node: the node (-1 if the slot is
    free), the number of classes seen, and these classes in the order in which they came
stats : (n_slots, n_features, n_cells, n_numbers) float64, see `softwood.loops.observers`
counters : (N_COUNTERS,) int64
settings : (N_SETTINGS,) float64
events : (room, N_EVENT_NUMBERS) float64, the log of splits, which the caller empties
"""

# nodes; TOUCHED: a gradient of the present batch is waiting
LEFT, RIGHT, PARENT, FEATURE, DEPTH, SLOT, N_KEYS, TOUCHED = range(8)
N_NODE_INTS = 8

# numbers, of all trees: WEIGHT is what has come to the node
THRESHOLD, WEIGHT, LAST_ATTEMPT = range(3)
# of Hoeffding trees; scores of both predictions of a leaf: correct weight of classifiers, faded errors of regressors
MODEL_SCORE, PLAIN_SCORE, MEAN, SPREAD = range(3, 7)
# of soft trees: the weight that passed the test, and powers of Adam's factors
LEFT_WEIGHT, FADE_1, FADE_2 = range(3, 6)
N_NODE_NUMBERS = 7

# slots
OWNER, N_SLOT_KEYS, FIRST_KEY = range(3)

# counters; N_TAKEN: slots that nodes of a soft tree have
N_NODES, N_INNER, N_EVENTS, N_ROWS, N_DRAWS, N_IN_BATCH, SLOTS_ARE_ALL, N_TAKEN = range(8)
N_COUNTERS = 8

# settings of growth, for all trees
GRACE, DELTA, TAU, MAX_DEPTH, MAX_INNER, MIN_FRACTION, MAX_SHARE, CRITERION = range(8)
# of Hoeffding trees
LEAF_PREDICTION, FADING = 8, 9
# of soft trees
(
    IS_CLASS, RATE, GAMMA, ALPHA, BATCH, MEMORY, HAS_BIAS, STATISTICS_SHARE, WEIGH_BY_SHARE, VALUE_START, GATE_START,
    ALPHA_RATE, PULL, RECHECK,
) = range(10, 24)  # fmt: skip
N_SETTINGS = 24

# places in a line of a soft tree's gates
ALPHA_AT, BIAS_AT, FIRST_WEIGHT = range(3)
# what a row leaves at each of the nodes that it reaches in a soft tree
SHARE, PART, SLOPE, ALONG, LESS_TEST = range(5)

# criteria
INFO_GAIN, GINI = 0, 1

# predictions of leaves
PLAIN, MODEL, ADAPTIVE = 0, 1, 2

# events
(
    EVENT_KIND, EVENT_ROWS, EVENT_NODE, EVENT_FEATURE, EVENT_THRESHOLD, EVENT_MERIT, EVENT_SECOND, EVENT_BOUND,
    EVENT_SEEN,
) = range(9)  # fmt: skip
N_EVENT_NUMBERS = 9
SPLIT, REPLACE = 0, 1
