"""The scan for kernels of several pieces, and for kernel widths that differ from cell to cell.

Here the breakpoints of different atoms interleave in any way, so they are listed and sorted;
`softwood.kernel.growing.loops.scan` has the faster way for the common case, one box for all points of a feature.
"""

import numpy as np

from softwood.kernel.growing.loops.scan import SLACK, THIN, is_ahead, merit_of
from softwood.trees.loops.kernel import kernel_cdf
from softwood.trees.loops.thresholds import middle_of


def merge_runs(keys, orders, row, begin, middle, end):
    """Merge the positions from `begin` to `middle` and from there to `end`, of one row of `orders` into the other."""
    a = begin
    b = middle
    for k in range(begin, end):
        if a < middle and (b >= end or keys[orders[row, a]] <= keys[orders[row, b]]):
            orders[1 - row, k] = orders[row, a]
            a += 1
        else:
            orders[1 - row, k] = orders[row, b]
            b += 1


def rising_order(keys, n, orders):
    """Positions of the first `n` keys in rising order; equal keys stay in order (merge sort).

    The sort begins with the rising runs that it finds: the breakpoints of an atom are one.

    orders : (3, >= n) int64 scratch space; the ends of the runs are in the last row

    Returns
    -------
    the row of `orders` that holds the positions
    """
    n_runs = 0
    for k in range(n):
        orders[0, k] = k
        if k == n - 1 or keys[k + 1] < keys[k]:
            orders[2, n_runs] = k + 1
            n_runs += 1
    row = 0
    while n_runs > 1:
        begin = 0
        for run in range(0, n_runs, 2):
            end = orders[2, min(run + 1, n_runs - 1)]
            merge_runs(keys, orders, row, begin, orders[2, run], end)
            orders[2, run >> 1] = end
            begin = end
        n_runs = (n_runs + 1) >> 1
        row = 1 - row
    return row


def knot_place(mass, shape, edges, cdfs, k):
    """Where in its piece `k` the distribution function of a kernel shape reaches `mass`, in units of the half-width."""
    length = edges[shape, k + 1] - edges[shape, k]
    return edges[shape, k] + (mass - cdfs[shape, k]) * length / (cdfs[shape, k + 1] - cdfs[shape, k])


def place_knots(x, width, shape, edges, cdfs, lower, upper, owner, knots, at):
    """Write the breakpoints of one atom and the change of its share's slope at each; a step has the rate nan.

    Before a step comes a breakpoint that changes nothing: the last threshold at which the atom is still on the right.

    Parameters
    ----------
    shape : row of the tables `edges` and `cdfs`
    lower, upper : distribution values at the ends of the part of the atom's kernel that is in the node
    at : first free position of `knots`

    Returns
    -------
    the next free position
    """
    k = 0
    last = edges.shape[1] - 1
    if width <= 0.0 or upper <= lower:
        knots.times[at] = np.nextafter(x, -np.inf)
        knots.rates[at] = 0.0
        knots.owners[at] = owner
        knots.times[at + 1] = x
        knots.rates[at + 1] = np.nan
        knots.owners[at + 1] = owner
        return at + 2
    while k < last and cdfs[shape, k + 1] <= lower:
        k += 1
    first = at
    # Positions where the distribution function reaches `lower`, the inner edges, and where it reaches `upper`.
    slope_before = 0.0
    mass = upper - lower
    position = x + width * knot_place(lower, shape, edges, cdfs, k)
    while True:
        length = edges[shape, k + 1] - edges[shape, k]
        slope = (cdfs[shape, k + 1] - cdfs[shape, k]) / (length * width * mass)
        knots.times[at] = position
        knots.rates[at] = slope - slope_before
        knots.owners[at] = owner
        at += 1
        slope_before = slope
        if cdfs[shape, k + 1] >= upper:
            break
        k += 1
        position = x + width * edges[shape, k]
    stop = x + width * knot_place(upper, shape, edges, cdfs, k)
    if stop - knots.times[first] <= THIN * width * (edges[shape, last] - edges[shape, 0]):
        knots.rates[first] = 0.0
        knots.times[first + 1] = stop
        knots.rates[first + 1] = np.nan
        knots.owners[first + 1] = owner
        return first + 2
    knots.times[at] = stop
    knots.rates[at] = -slope_before
    knots.owners[at] = owner
    return at + 1


def add_exactly(total, rest, x):
    """Add `x` to `total`, and to `rest` what that loses by rounding, without branches."""
    larger = total + x
    part = larger - total
    return larger, rest + ((total - (larger - part)) + (x - part))


def forget_slopes(work, n_outputs):
    """No kernel reaches here: the slopes are 0, but for rounding errors."""
    for o in range(n_outputs):
        work[2, o] = 0.0
        work[4, o] = 0.0


def _begin(atoms, n, n_outputs, work):
    """Add up the atoms, and begin with nothing on the left; see `scan_general` for `work`.

    Returns the mass of all atoms.
    """
    total = 0.0
    forget_slopes(work, n_outputs)
    for k in range(n_outputs):
        work[0, k] = 0.0
        work[1, k] = 0.0
    for a in range(n):
        total += atoms[a, 2]
        for k in range(n_outputs):
            work[0, k] += atoms[a, 3 + k]
    return total


def go_on(t, t_next, is_gap, left_mass, rate_mass, total, interval, goal, work, best, best_t, best_mass):
    """Try the threshold `t`, and those up to the next breakpoint at which a side has exactly the minimum mass.

    Parameters
    ----------
    is_gap : whether no kernel reaches here: any threshold up to `t_next` is as good as `t`
    left_mass, rate_mass : mass on the left of `t`, and its slope
    interval : the node's;  work : as in `scan_general`; left sums become those at `t_next`
    best, best_t, best_mass : merit, threshold and left mass of the best split so far

    Returns
    -------
    mass on the left of `t_next`, and merit, threshold and left mass of the best split
    """
    min_mass, q = goal.min_mass, goal.n_outputs
    least = min_mass * SLACK
    most = total - least
    if left_mass >= least and left_mass <= most and (is_gap or (t > interval[0] and t < interval[1])):
        merit = merit_of(left_mass, total, work, 1, q, goal.criterion)
        if is_ahead(merit, left_mass, total, goal.tie, best, best_mass):
            best, best_t, best_mass = max(best, merit), middle_of(t, t_next) if is_gap else t, left_mass
    if rate_mass <= 0.0:
        return left_mass, best, best_t, best_mass
    step = t_next - t
    reach = left_mass + rate_mass * step
    if (left_mass < least and reach > min_mass) or (left_mass < total - min_mass and reach > most):
        margin = 0.5 * (min_mass - least)  # a breakpoint as near is as good, and may be moved to a gap's middle
        for side in range(2):
            wanted = min_mass if side == 0 else total - min_mass
            if left_mass + margin < wanted and wanted < reach - margin and wanted >= least and wanted <= most:
                part = (wanted - left_mass) / rate_mass
                for o in range(q):
                    work[3, o] = work[1, o] + (work[2, o] + work[4, o]) * part
                merit = merit_of(wanted, total, work, 3, q, goal.criterion)
                if merit > best + goal.tie:
                    best, best_t, best_mass = merit, t + part, wanted
    for o in range(q):
        work[1, o] += (work[2, o] + work[4, o]) * step
    return reach, best, best_t, best_mass


def scan_general(knots, n_knots, atoms, n, interval, goal, work):
    """Best threshold for atoms with any piecewise-constant kernels, given their breakpoints in any order.

    Parameters
    ----------
    atoms : (>= n, 3 + n_outputs) as in `scan_box`; only masses and sums are read
    work : (5, >= n_outputs) scratch space: sums of all atoms, left sums, their slopes, left sums that are tried, and
        what the slopes have lost by rounding. Narrow kernels have steep slopes: what they leave behind would swamp the
        slopes of wide ones.

    Returns
    -------
    merit, threshold, left mass
    """
    times, rates, open_rates = knots.times, knots.rates, knots.open_rates
    q = goal.n_outputs
    total = _begin(atoms, n, q, work)
    rest_mass = 0.0
    row = rising_order(times, n_knots, knots.orders)
    # An atom is open while its share is between 0 and 1; with none open the left sums are flat.
    n_open = 0
    for a in range(n):
        open_rates[a] = 0.0
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left_mass = 0.0
    slope_mass = 0.0
    t = -np.inf
    for position in range(n_knots):
        knot = knots.orders[row, position]
        t_next = times[knot]
        if t_next > t:
            left_mass, best, best_t, best_mass = go_on(
                t, t_next, n_open == 0, left_mass, slope_mass + rest_mass, total, interval, goal, work, best, best_t,
                best_mass,
            )  # fmt: skip
            t = t_next
        a = knots.owners[knot]
        rate = rates[knot]
        if np.isnan(rate):
            left_mass += atoms[a, 2]
            for k in range(q):
                work[1, k] += atoms[a, 3 + k]
        else:
            before = open_rates[a]
            after = before + rate
            if before == 0.0:
                n_open += 1
            if abs(after) <= 1e-9 * abs(rate):
                after = 0.0
                n_open -= 1
            open_rates[a] = after
            slope_mass, rest_mass = add_exactly(slope_mass, rest_mass, -atoms[a, 2] * before)
            slope_mass, rest_mass = add_exactly(slope_mass, rest_mass, atoms[a, 2] * after)
            for k in range(q):
                work[2, k], work[4, k] = add_exactly(work[2, k], work[4, k], -atoms[a, 3 + k] * before)
                work[2, k], work[4, k] = add_exactly(work[2, k], work[4, k], atoms[a, 3 + k] * after)
        if n_open == 0:
            slope_mass = 0.0
            rest_mass = 0.0
            forget_slopes(work, q)
    return best, best_t, best_mass


def add_sums(points, labels, k, n_outputs, sums, row, first):
    """Add the sums of targets of point `k`, or its mass in its class, to a row of `sums`, from a column on."""
    if points.shape[1] == 1:
        sums[row, first + labels[k]] += points[k, 0]
    else:
        for o in range(n_outputs):
            sums[row, first + o] += points[k, 1 + o]


def place_point(points, labels, k, n_outputs, atoms, a):
    """Mass and sums of targets of point `k`, or its mass in its class, as those of atom `a`."""
    atoms[a, 2] = points[k, 0]
    for o in range(n_outputs):
        atoms[a, 3 + o] = 0.0
    add_sums(points, labels, k, n_outputs, atoms, a, 3)


def spread_missing(missing, observed, n_outputs, work, atoms, n):
    """Spread points without a value over `n` atoms in proportion to their masses, `observed` in total.

    missing : mass of these points, whose sums are in the second row of `work`
    """
    if missing > 0.0:
        for a in range(n):
            part = atoms[a, 2] / observed
            atoms[a, 2] += part * missing
            for o in range(n_outputs):
                atoms[a, 3 + o] += part * work[1, o]


def scan_points(cells, points, labels, m, shape, edges, cdfs, interval, goal, knots, work):
    """Best threshold where every point is an atom of its own.

    Parameters
    ----------
    cells : (4, >= m) places (nan: missing), half-widths, and distribution values at the lower and the upper end of the
        part of each point's kernel that is in the node
    points, labels : as in `softwood.kernel.growing.loops.atoms.add_points`
    shape : row of the tables `edges` and `cdfs`;  interval : the node's on this feature
    work : as in `scan_general`

    Returns
    -------
    merit, threshold, left mass
    """
    n_outputs = goal.n_outputs
    atoms = knots.atoms
    missing = 0.0
    observed = 0.0
    n = 0
    at = 0
    for o in range(n_outputs):
        work[1, o] = 0.0  # the sums of points without a place
    for k in range(m):
        if np.isnan(cells[0, k]):
            missing += points[k, 0]
            add_sums(points, labels, k, n_outputs, work, 1, 0)
            continue
        at = place_knots(cells[0, k], cells[1, k], shape, edges, cdfs, cells[2, k], cells[3, k], n, knots, at)
        place_point(points, labels, k, n_outputs, atoms, n)
        observed += points[k, 0]
        n += 1
    spread_missing(missing, observed, n_outputs, work, atoms, n)
    return scan_general(knots, at, atoms, n, interval, goal, work)


def scan_cells(bins, kernels, feature, rows, begin, m, scratch, interval, goal, search):
    """Best threshold of a binned feature whose kernel widths differ from cell to cell.

    Arguments are as in `softwood.kernel.growing.loops.search.search_thresholds`; interval : the node's on this feature.
    """
    points, widths, cells = bins.points, kernels.cells, search.knots.cells
    shape = kernels.kinds[feature]
    lo, hi = interval
    for k in range(m):
        row = rows[begin + k]
        x, width = points[row, feature], widths[row, feature]
        cells[0, k] = x
        cells[1, k] = width
        cells[2, k] = kernel_cdf(lo, x, width, shape, kernels.edges, kernels.cdfs)
        cells[3, k] = kernel_cdf(hi, x, width, shape, kernels.edges, kernels.cdfs)
    return scan_points(
        cells, scratch.points, scratch.labels, m, shape, kernels.edges, kernels.cdfs, interval, goal, search.knots,
        search.work,
    )  # fmt: skip


def scan_atoms(atoms, n, width, shape, kernels, interval, goal, knots, work):
    """Best threshold of a feature with one kernel of several pieces: that in row `shape` of the tables of `kernels`."""
    lo, hi = interval
    at = 0
    for a in range(n):
        x = atoms[a, 0]
        lower = kernel_cdf(lo, x, width, shape, kernels.edges, kernels.cdfs)
        upper = kernel_cdf(hi, x, width, shape, kernels.edges, kernels.cdfs)
        at = place_knots(x, width, shape, kernels.edges, kernels.cdfs, lower, upper, a, knots, at)
    return scan_general(knots, at, atoms, n, interval, goal, work)
