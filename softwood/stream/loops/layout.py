"""Arrays in which growing trees are held, and their columns.

A tree that grows on a stream is a handful of arrays with free space, so that the whole state can be saved as it is.
Loops get them in the named tuples below.

nodes : (capacity, N_NODE_INTS) int64
numbers : (capacity, N_NODE_NUMBERS) float64
counters : (N_COUNTERS,) int64
settings : `Settings`
slots : (n_slots, 2 + n_outputs) int64; a slot holds the statistics of one node: the node (-1 if the slot is
    free), the number of classes seen, and these classes in the order in which they came
stats : (n_slots, n_features, n_cells, n_numbers) float64, see `softwood.stream.loops.observers`
is_category : (n_features,) int64, 0 for numbers; columns of zeros and ones for the categories of the same source have
    its number, from 1 on
events : (capacity,) records of type EVENT, the log of splits, which the caller empties
"""

from typing import NamedTuple

import numpy as np

# nodes; TOUCHED: a gradient of the present batch is waiting
LEFT, RIGHT, PARENT, FEATURE, DEPTH, SLOT, N_KEYS, TOUCHED = range(8)
N_NODE_INTS = 8

# numbers, of all trees: WEIGHT is what has come to the node
THRESHOLD, WEIGHT, LAST_ATTEMPT = range(3)
# of Hoeffding trees; scores of both predictions of a leaf: correct weight of classifiers, faded errors of regressors;
# MODEL_LATELY, PLAIN_LATELY: faded means of the same of classifiers
MODEL_SCORE, PLAIN_SCORE, MEAN, SPREAD = range(3, 7)
MODEL_LATELY, PLAIN_LATELY = range(5, 7)
# of soft trees: the weight that passed the test, powers of Adam's factors, and of the root the weight of all rows
LEFT_WEIGHT, FADE_1, FADE_2, ALL_WEIGHT = range(3, 7)
N_NODE_NUMBERS = 7

# slots
OWNER, N_SLOT_KEYS, FIRST_KEY = range(3)

# counters; N_TAKEN: slots that nodes of a soft tree have
N_NODES, N_INNER, N_EVENTS, N_ROWS, N_DRAWS, N_IN_BATCH, SLOTS_ARE_ALL, N_TAKEN = range(8)
N_COUNTERS = 8

# scalers
SCALED_WEIGHT, CENTRE, INVERSE, VARIANCE, RUN, LAST = range(6)
N_SCALER_ROWS = 6

# columns of a soft tree's gates
ALPHA_AT, BIAS_AT, FIRST_WEIGHT = range(3)
# what a row leaves at each of the nodes that it reaches in a soft tree
SHARE, PART, SLOPE, ALONG, LESS_TEST = range(5)

# criteria
INFO_GAIN, GINI = 0, 1

# values that a class has not shown, in naive Bayes: they say nothing, or that the class is unlikely
IGNORED, UNLIKELY = 0, 1

# predictions of leaves
PLAIN, MODEL, ADAPTIVE = 0, 1, 2

# outputs of soft trees: as they are, or behind the softmax, or in the units of the running scale of targets
RAW, PROBABILITIES, TARGETS = 0, 1, 2

# events, with the fields of `softwood.stream.growing.events.SplitEvent`
SPLIT, REPLACE = 0, 1
EVENT = np.dtype(
    [(name, np.int64) for name in ("kind", "n_samples", "node", "feature")]
    + [(name, np.float64) for name in ("threshold", "merit", "second_merit", "bound", "weight_seen")]
)


class Rows(NamedTuple):
    """Rows to learn, or to predict: then only points and out are used.

    Attributes
    ----------
    points : (n, n_features) values, nan where missing
    labels, targets : (n,) int64 numbers of the classes of the rows; their real targets. One of the two is None
    weights : (n,) rows of weight 0 are predicted but not learned
    out : (n, n_outputs) gets the prediction for each row before it was learned; without rows if they are not needed
    """

    points: np.ndarray
    labels: np.ndarray | None
    targets: np.ndarray | None
    weights: np.ndarray | None
    out: np.ndarray


class Settings(NamedTuple):
    """Settings of growth: parameters of the estimators as numbers, see `softwood.stream.settings`.

    Files hold them in this order.

    Attributes
    ----------
    grace_period, delta, tau, max_depth, min_branch_fraction, drift_delta, restart_rise : of all trees that grow; a
        `drift_delta` of 0 means that no detector watches the errors
    max_inner : number of inner nodes that the limits of nodes and memory allow
    max_share_to_split, split_criterion, leaf_prediction : of Hoeffding trees for classes; the last also of regressors
    model_selector_decay, learning_rate : of Hoeffding trees for real targets; `learning_rate` also of soft trees
    deeper_for_classes : whether many classes raise `max_depth`
    unseen_values, many_ways : of Hoeffding trees for classes: whether a value that a class has not shown is unlikely,
        and whether splits of categories may have more than two sides
    judges_copies : of Hoeffding trees for classes: whether a leaf compares its two predictions for a row of weight w as
        for w rows; in forests weights are draws, and each row is judged once
    small_error : of soft trees in forests: once the error of a row, the distance of the probability of its class from
        1, or of the prediction from the target in standard deviations, is smaller, what is left of its weight is
        learned at once; 0: it is learned in portions of 1
    least_growth : of Hoeffding trees in forests: share by which a leaf must have become heavier since the last attempt
        to split it, if that is more than the grace period
    inherited_weight : of Hoeffding trees for classes: weight of what new leaves know of their parent's rows
    others : of soft trees; an `outlier_limit` of 0 means no limit, a `merit_range` of 0 the logarithm of the number of
        classes
    """

    grace_period: float = 0.0
    delta: float = 0.0
    tau: float = 0.0
    max_depth: float = 0.0
    max_inner: float = 0.0
    min_branch_fraction: float = 0.0
    max_share_to_split: float = 0.0
    split_criterion: float = 0.0
    leaf_prediction: float = 0.0
    model_selector_decay: float = 0.0
    learning_rate: float = 0.0
    gamma: float = 0.0
    alpha: float = 0.0
    batch_size: float = 0.0
    scaler_memory: float = 0.0
    bias: float = 0.0
    min_share: float = 0.0
    weigh_by_share: float = 0.0
    leaf_init: float = 0.0
    gate_init: float = 0.0
    alpha_learning_rate: float = 0.0
    alpha_pull: float = 0.0
    recheck_period: float = 0.0
    outlier_limit: float = 0.0
    count_period: float = 0.0
    merit_range: float = 0.0
    deeper_for_classes: float = 0.0
    drift_delta: float = 0.0
    restart_rise: float = 0.0
    unseen_values: float = 0.0
    many_ways: float = 0.0
    judges_copies: float = 0.0
    small_error: float = 0.0
    least_growth: float = 0.0
    inherited_weight: float = 0.0


class TreeNodes(NamedTuple):
    """What all trees have; `detector` is that of `softwood.stream.loops.alarms`."""

    nodes: np.ndarray
    numbers: np.ndarray
    counters: np.ndarray
    settings: Settings
    detector: np.ndarray


class ClassNodes(NamedTuple):
    """What a Hoeffding tree for classes has besides.

    Attributes
    ----------
    counts : (capacity, n_classes) class weights of each node
    keys : (capacity, n_classes) int64, classes of each node in the order in which they came
    prediction : (2, n_classes) scratch space for the prediction of a row that is learned, and for those of its copies
    parent : (n_features, n_classes, 7) scratch space for the normal distributions of a leaf that is split
    """

    counts: np.ndarray
    keys: np.ndarray
    prediction: np.ndarray
    parent: np.ndarray


class RealNodes(NamedTuple):
    """What a Hoeffding tree for real targets has besides.

    Attributes
    ----------
    models : (capacity, 1 + n_features) the linear model of each node: constant and weights of standardised features
    scaler : (N_SCALER_ROWS, n_features) of each feature the running weight, mean, inverse standard deviation and
        variance, the weight of values in a row that contradict these (see `past_weight` of
        `softwood.stream.loops.scales`), and the last value
    """

    models: np.ndarray
    scaler: np.ndarray


class SoftNodes(NamedTuple):
    """What a soft tree has besides.

    Attributes
    ----------
    gates : (3, capacity, 2 + n_features) parameters of gates and Adam's two moments: alpha, which is the part of the
        smooth step in the gate, bias, and weights of the standardised features
    values : (3, capacity, n_outputs) values of leaves and Adam's two moments
    gate_slopes, value_slopes : (capacity, 2 + n_features) and (capacity, n_outputs), gradients that wait for a step
    scaler : (N_SCALER_ROWS, n_features) as in `RealNodes`
    target_scaler : (N_SCALER_ROWS, 1) the same of a real target
    seed : of the first weights of gates
    """

    gates: np.ndarray
    values: np.ndarray
    gate_slopes: np.ndarray
    value_slopes: np.ndarray
    scaler: np.ndarray
    target_scaler: np.ndarray
    seed: np.uint64


class Path(NamedTuple):
    """Scratch space for the path of one row through a soft tree.

    Attributes
    ----------
    places : (capacity, 3) int64, nodes that the row reaches, parents first, and the places of both children (-1: none)
    shares : (capacity, 5) of each of these: share, part that goes left, slope of the smooth step, gradient along the
        subtree's output, and the smooth step less the test
    tests : (capacity,) whether the row passes the test of each of these, or the part of it that does; 0 for leaves
    x : (1 + n_features,) 1 or 0 and the standardised row
    within : (1, n_features) the row, without outliers
    slope : (1, n_outputs) outputs of the tree, then the derivative of the loss by these, times the weight of the row
    """

    places: np.ndarray
    shares: np.ndarray
    tests: np.ndarray
    x: np.ndarray
    within: np.ndarray
    slope: np.ndarray


class Statistics(NamedTuple):
    """What leaves have seen, and the log of what was made of it.

    Attributes
    ----------
    seen : (n_slots, n_outputs) of soft trees the class weights of each slot, of soft regressors the weight; else None
    sides : (2, at least n_outputs and 3) scratch space for both sides of a test
    n_values : (n_features,) int64, of a category the number of categories of its source, else 0
    most_tests : number of tests that one split may need: one less than the largest number of categories, if there are
        splits with more than two sides, else 1
    """

    slots: np.ndarray
    stats: np.ndarray
    seen: np.ndarray | None
    is_category: np.ndarray
    events: np.ndarray
    sides: np.ndarray
    n_values: np.ndarray | None = None
    most_tests: int = 1


class Learned(NamedTuple):
    """What a loop has done.

    Attributes
    ----------
    n_rows : number of the first row that is not learned completely, for lack of space or because of an alarm
    is_alarm : whether there is an alarm that Python has not handled yet
    n_events : entries in the log
    """

    n_rows: int
    is_alarm: bool
    n_events: int


class FoundTest(NamedTuple):
    """A test ``x[feature] <= threshold`` (feature -1: none), its merit, and that of the best one on another feature.

    With `is_many` the test is the first of those that divide the categories of a source, each from the rest.
    """

    feature: int
    threshold: float
    merit: float
    second: float
    is_many: bool = False
