"""The scan for kernels of several pieces, and for kernel widths that differ from cell to cell.

Here the breakpoints of different atoms interleave in any way, so they are listed and sorted; `softwood.loops.scan`
has the faster way for the common case, one box for all points of a feature.
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.kernel import kernel_cdf
from softwood.loops.scan import EVEN, SLACK, THIN, merit_of, middle_of


@compiled
def rising_order(keys, n):
    """Positions of the first `n` keys in rising order; equal keys stay in order (merge sort).

    numpy's sort compiles for two seconds, this one in a tenth of that.
    """
    order = np.arange(n)
    spare = np.empty(n, np.int64)
    run = 1
    while run < n:
        for begin in range(0, n, 2 * run):
            middle = min(begin + run, n)
            end = min(begin + 2 * run, n)
            a = begin
            b = middle
            for k in range(begin, end):
                if a < middle and (b >= end or keys[order[a]] <= keys[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        order, spare = spare, order
        run *= 2
    return order


@compiled
def place_knots(x, width, edges, cdf, lower, upper, owner, times, rates, owners, at):
    """Write the breakpoints of one atom and the change of its share's slope at each; a step has the rate nan.

    Before a step comes a breakpoint that changes nothing: the last threshold at which the atom is still on the right.

    Returns the next free position.
    """
    k = 0
    last = edges.shape[0] - 1
    if width <= 0.0 or upper <= lower:
        times[at] = np.nextafter(x, -np.inf)
        rates[at] = 0.0
        owners[at] = owner
        times[at + 1] = x
        rates[at + 1] = np.nan
        owners[at + 1] = owner
        return at + 2
    while k < last and cdf[k + 1] <= lower:
        k += 1
    first = at
    # Positions where the distribution function reaches `lower`, the inner edges, and where it reaches `upper`.
    slope_before = 0.0
    mass = upper - lower
    position = x + width * (edges[k] + (lower - cdf[k]) * (edges[k + 1] - edges[k]) / (cdf[k + 1] - cdf[k]))
    while True:
        slope = (cdf[k + 1] - cdf[k]) / ((edges[k + 1] - edges[k]) * width * mass)
        times[at] = position
        rates[at] = slope - slope_before
        owners[at] = owner
        at += 1
        slope_before = slope
        if cdf[k + 1] >= upper:
            break
        k += 1
        position = x + width * edges[k]
    stop = x + width * (edges[k] + (upper - cdf[k]) * (edges[k + 1] - edges[k]) / (cdf[k + 1] - cdf[k]))
    if stop - times[first] <= THIN * width * (edges[last] - edges[0]):
        rates[first] = 0.0
        times[first + 1] = stop
        rates[first + 1] = np.nan
        owners[first + 1] = owner
        return first + 2
    times[at] = stop
    rates[at] = -slope_before
    owners[at] = owner
    return at + 1


@compiled
def _add(total, rest, x):
    """Add `x` to `total`, and to `rest` what that loses by rounding (Neumaier)."""
    larger = total + x
    if abs(total) >= abs(x):
        return larger, rest + ((total - larger) + x)
    return larger, rest + ((x - larger) + total)


@compiled
def _begin(atoms, n, totals, left, slope):
    """Add up the atoms, and begin with nothing on the left.

    Returns the mass of all atoms.
    """
    total = 0.0
    for k in range(totals.shape[0]):
        totals[k] = 0.0
        left[k] = 0.0
        slope[k] = 0.0
    for a in range(n):
        total += atoms[a, 2]
        for k in range(totals.shape[0]):
            totals[k] += atoms[a, 3 + k]
    return total


@compiled
def _merit_ahead(step, left_mass, total, work, rest, criterion):
    """Merit of a threshold further on by `step`, within the piece where slopes stay as they are; left_mass : there."""
    left = work[1]
    slope = work[2]
    trial = work[3]
    for k in range(work.shape[1]):
        trial[k] = left[k] + (slope[k] + rest[k]) * step
    return merit_of(left_mass, trial, total, work[0], criterion)


@compiled
def scan_general(events, n_events, atoms, n, interval, goal, criterion):
    """Best threshold for atoms with any piecewise-constant kernels, given their breakpoints in any order.

    Parameters
    ----------
    events : three arrays (>= n_events,): breakpoints, changes of slope (nan: a step) and the atoms they belong to
    atoms : (>= n, 3 + n_outputs) as in `scan_box`; only masses and sums are read

    Returns
    -------
    merit, threshold, left mass
    """
    times, rates, owners = events
    lo, hi = interval
    min_mass, tie, q = goal.min_mass, goal.tie, goal.n_outputs
    work = np.empty((4, q))  # sums of all atoms, left sums, their slopes, and left sums that are tried
    totals = work[0]
    left = work[1]
    slope = work[2]
    total = _begin(atoms, n, totals, left, slope)
    least = min_mass * SLACK
    most = total - least
    margin = 0.5 * (min_mass - least)  # a breakpoint as near as this is as good, and may be moved to a gap's middle
    # Narrow kernels have steep slopes: what they leave behind by rounding would swamp the slopes of wide ones.
    rest = np.zeros(q)
    rest_mass = 0.0
    order = rising_order(times, n_events)
    # An atom is open while its share is between 0 and 1; with none open the left sums are flat.
    open_atoms = 0
    share_rate = np.zeros(n)
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left_mass = 0.0
    slope_mass = 0.0
    t = -np.inf
    for position in range(n_events):
        event = order[position]
        t_next = times[event]
        if t_next > t:
            if left_mass >= least and left_mass <= most and (open_atoms == 0 or (t > lo and t < hi)):
                merit = merit_of(left_mass, left, total, totals, criterion)
                if merit > best - tie and (
                    merit > best + tie or abs(2.0 * left_mass - total) < abs(2.0 * best_mass - total) - EVEN * total
                ):
                    best_mass = left_mass
                    best_t = middle_of(t, t_next) if open_atoms == 0 else t
                    best = max(best, merit)
            rate_mass = slope_mass + rest_mass
            if rate_mass > 0.0:
                step = t_next - t
                reach = left_mass + rate_mass * step
                for side in range(2):
                    goal = min_mass if side == 0 else total - min_mass
                    if left_mass + margin < goal and goal < reach - margin and goal >= least and goal <= most:
                        part = (goal - left_mass) / rate_mass
                        merit = _merit_ahead(part, goal, total, work, rest, criterion)
                        if merit > best + tie:
                            best = merit
                            best_t = t + part
                            best_mass = goal
                left_mass = reach
                for k in range(q):
                    left[k] += (slope[k] + rest[k]) * step
            t = t_next
        a = owners[event]
        rate = rates[event]
        if np.isnan(rate):
            left_mass += atoms[a, 2]
            for k in range(q):
                left[k] += atoms[a, 3 + k]
        else:
            before = share_rate[a]
            after = before + rate
            if before == 0.0:
                open_atoms += 1
            if abs(after) <= 1e-9 * abs(rate):
                after = 0.0
                open_atoms -= 1
            share_rate[a] = after
            slope_mass, rest_mass = _add(slope_mass, rest_mass, -atoms[a, 2] * before)
            slope_mass, rest_mass = _add(slope_mass, rest_mass, atoms[a, 2] * after)
            for k in range(q):
                slope[k], rest[k] = _add(slope[k], rest[k], -atoms[a, 3 + k] * before)
                slope[k], rest[k] = _add(slope[k], rest[k], atoms[a, 3 + k] * after)
        if open_atoms == 0:
            slope_mass = 0.0
            rest_mass = 0.0
            for k in range(q):
                slope[k] = 0.0
                rest[k] = 0.0
    return best, best_t, best_mass


@compiled
def scan_points(x, widths, bounds, points, labels, shape, interval, goal, criterion):
    """Best threshold where every point is an atom of its own.

    Parameters
    ----------
    x, widths : (m,) places (nan: missing) and half-widths
    bounds : (2, m) distribution values at the ends of the part of each point's kernel that is in the node
    points, labels : as in `softwood.loops.atoms.add_points`
    shape : edges and distribution values of the kernel;  interval : the node's on this feature

    Returns
    -------
    merit, threshold, left mass
    """
    m, n_outputs = x.shape[0], goal.n_outputs
    edges, cdf = shape
    pieces = edges.shape[0] + 1
    times = np.empty(m * pieces)
    rates = np.empty(m * pieces)
    owners = np.empty(m * pieces, np.int64)
    atoms = np.zeros((m, 3 + n_outputs))
    missing = np.zeros(1 + n_outputs)
    observed = 0.0
    n = np.int64(0)  # not a plain 0: see `scan_box`
    at = np.int64(0)
    for k in range(m):
        if np.isnan(x[k]):
            missing[0] += points[k, 0]
            if labels is not None:
                missing[1 + labels[k]] += points[k, 0]
            if labels is None:
                for o in range(n_outputs):
                    missing[1 + o] += points[k, 1 + o]
            continue
        at = place_knots(x[k], widths[k], edges, cdf, bounds[0, k], bounds[1, k], n, times, rates, owners, at)
        atoms[n, 2] = points[k, 0]
        observed += points[k, 0]
        if labels is not None:
            atoms[n, 3 + labels[k]] = points[k, 0]
        if labels is None:
            for o in range(n_outputs):
                atoms[n, 3 + o] = points[k, 1 + o]
        n += 1
    if missing[0] > 0.0:
        for a in range(n):
            part = atoms[a, 2] / observed
            for o in range(1 + n_outputs):
                atoms[a, 2 + o] += part * missing[o]
    return scan_general((times, rates, owners), at, atoms, n, interval, goal, criterion)


@compiled
def scan_cells(bins, kernels, feature, node, labels, interval, goal, criterion):
    """Best threshold of a binned feature whose kernel widths differ from cell to cell."""
    points, cells = bins.points, kernels.cells
    rows, begin, m = node.rows, node.begin, node.size
    edges, cdf = kernels.edges[kernels.kinds[feature]], kernels.cdfs[kernels.kinds[feature]]
    lo, hi = interval
    x = np.empty(m)
    widths = np.empty(m)
    bounds = np.empty((2, m))
    for k in range(m):
        row = rows[begin + k]
        x[k] = points[row, feature]
        widths[k] = cells[row, feature]
        bounds[0, k] = kernel_cdf(lo, x[k], widths[k], edges, cdf)
        bounds[1, k] = kernel_cdf(hi, x[k], widths[k], edges, cdf)
    return scan_points(x, widths, bounds, node.points, labels, (edges, cdf), interval, goal, criterion)


@compiled
def scan_atoms(atoms, n, width, shape, interval, goal, criterion):
    """Best threshold of a feature with one kernel of several pieces."""
    edges, cdf = shape
    lo, hi = interval
    pieces = edges.shape[0] + 1
    times = np.empty(n * pieces)
    rates = np.empty(n * pieces)
    owners = np.empty(n * pieces, np.int64)
    at = np.int64(0)
    for a in range(n):
        x = atoms[a, 0]
        lower = kernel_cdf(lo, x, width, edges, cdf)
        upper = kernel_cdf(hi, x, width, edges, cdf)
        at = place_knots(x, width, edges, cdf, lower, upper, a, times, rates, owners, at)
    return scan_general((times, rates, owners), at, atoms, n, interval, goal, criterion)
