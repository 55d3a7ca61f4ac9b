"""Layers whose rows reach most gates: all rows of a block pass a gate at once, one gate after the other.

What the gates compute from the rows is a matrix product, which is done before. Here it is turned into shares, and these
into sums of leaf values.

Arguments that recur
--------------------
z : (n_gates, n) what the gates compare with 0, or, if `gamma` is 0, the parts that go left
gamma : width of the smooth step, of the type of `z`
value : (n_leaves, n_outputs)
trees : `LayerTrees`
shares, alongs : (at least the gates and leaves of any tree, BLOCK) room for one tree and a block of rows. The lines are
    those of the gates, in order, followed by those of the leaves
"""

from softwood.trees.loops.layout import LEFT, RIGHT

# Rows that pass a tree at once: their shares in all gates of a tree of depth 8 stay in the processor's nearer memory.
BLOCK = 64


def share_block(z, gamma, begin, end, first, trees, t, shares):
    """Fill `shares` for the rows from `begin` to `end` and tree `t`; `first` is its first gate."""
    one, half, linear, cubic = 1.0, 0.5, 1.5, 2.0  # of the type of `z`
    n_gates = trees.gates[t + 1] - first
    after = n_gates - trees.leaves[t] - 1  # the line of leaf k is n_gates + k - trees.leaves[t], and its code is -1 - k
    m = end - begin
    inverse = one / gamma if gamma > 0.0 else one
    for r in range(m):
        shares[0, r] = one
    for k in range(n_gates):
        node = first + k
        a = trees.table[node, LEFT] - first if trees.table[node, LEFT] >= 0 else after - trees.table[node, LEFT]
        b = trees.table[node, RIGHT] - first if trees.table[node, RIGHT] >= 0 else after - trees.table[node, RIGHT]
        if gamma == 0.0:
            for r in range(m):
                s = shares[k, r]
                to_left = s * z[node, begin + r]
                shares[a, r] = to_left
                shares[b, r] = s - to_left
        else:
            for r in range(m):  # one bound in each loop, so that neither needs a branch
                shares[b, r] = max(z[node, begin + r] * inverse, -half)
            for r in range(m):
                s = shares[k, r]
                u = min(shares[b, r], half)
                to_left = s * (half + u * (linear - cubic * u * u))
                shares[a, r] = to_left
                shares[b, r] = s - to_left


def route_rows(z, gamma, value, trees, shares, out):
    """Sums of leaf values weighted by shares, (n_trees, n_outputs, n); `out` is zeros."""
    n = z.shape[1]
    for t in range(trees.gates.shape[0] - 1):
        n_gates = trees.gates[t + 1] - trees.gates[t]
        for begin in range(0, n, BLOCK):
            end = min(n, begin + BLOCK)
            share_block(z, gamma, begin, end, trees.gates[t], trees, t, shares)
            m = end - begin
            n_leaves = trees.leaves[t + 1] - trees.leaves[t]
            for four in range(0, n_leaves - 3, 4):  # four leaves at once: `out` is read and written once for them
                k, leaf = n_gates + four, trees.leaves[t] + four
                for o in range(value.shape[1]):
                    v0, v1, v2, v3 = value[leaf, o], value[leaf + 1, o], value[leaf + 2, o], value[leaf + 3, o]
                    for r in range(m):
                        total = out[t, o, begin + r] + shares[k, r] * v0 + shares[k + 1, r] * v1
                        out[t, o, begin + r] = total + shares[k + 2, r] * v2 + shares[k + 3, r] * v3
            for rest in range(n_leaves - n_leaves % 4, n_leaves):
                k, leaf = n_gates + rest, trees.leaves[t] + rest
                for o in range(value.shape[1]):
                    v0 = value[leaf, o]
                    for r in range(m):
                        out[t, o, begin + r] += shares[k, r] * v0


def leaf_slopes(t, begin, end, value, trees, shares, slope, alongs, value_slope):
    """Derivative along the output of each leaf of a tree, for a block of rows; and by its values, which is added."""
    m, q = end - begin, value.shape[1]
    n_gates = trees.gates[t + 1] - trees.gates[t]
    for leaf in range(trees.leaves[t], trees.leaves[t + 1]):
        k = n_gates + leaf - trees.leaves[t]
        for r in range(m):
            alongs[k, r] = slope[t, 0, begin + r] * value[leaf, 0]
        for o in range(1, q - 3, 4):  # four outputs at once
            v0, v1, v2, v3 = value[leaf, o], value[leaf, o + 1], value[leaf, o + 2], value[leaf, o + 3]
            for r in range(m):
                total = alongs[k, r] + slope[t, o, begin + r] * v0 + slope[t, o + 1, begin + r] * v1
                alongs[k, r] = total + slope[t, o + 2, begin + r] * v2 + slope[t, o + 3, begin + r] * v3
        for o in range(q - (q - 1) % 4, q):
            v0 = value[leaf, o]
            for r in range(m):
                alongs[k, r] += slope[t, o, begin + r] * v0
        for o in range(q):  # eight sums, which the processor adds up at once
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for r in range(0, m - 7, 8):
                s0 += slope[t, o, begin + r] * shares[k, r]
                s1 += slope[t, o, begin + r + 1] * shares[k, r + 1]
                s2 += slope[t, o, begin + r + 2] * shares[k, r + 2]
                s3 += slope[t, o, begin + r + 3] * shares[k, r + 3]
                s4 += slope[t, o, begin + r + 4] * shares[k, r + 4]
                s5 += slope[t, o, begin + r + 5] * shares[k, r + 5]
                s6 += slope[t, o, begin + r + 6] * shares[k, r + 6]
                s7 += slope[t, o, begin + r + 7] * shares[k, r + 7]
            for r in range(m - m % 8, m):
                s0 += slope[t, o, begin + r] * shares[k, r]
            value_slope[leaf, o] += ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


def gate_slopes(z, gamma, begin, end, first, trees, t, shares, alongs, z_slope):
    """Derivative by what each gate of a tree computes, for a block of rows, from the leaves up."""
    one, half, linear, cubic, square = 1.0, 0.5, 1.5, 2.0, 6.0
    n_gates = trees.gates[t + 1] - first
    after = n_gates - trees.leaves[t] - 1
    m = end - begin
    inverse = one / gamma if gamma > 0.0 else one
    for k in range(n_gates - 1, -1, -1):
        node = first + k
        a = trees.table[node, LEFT] - first if trees.table[node, LEFT] >= 0 else after - trees.table[node, LEFT]
        b = trees.table[node, RIGHT] - first if trees.table[node, RIGHT] >= 0 else after - trees.table[node, RIGHT]
        if gamma == 0.0:
            for r in range(m):
                difference = alongs[a, r] - alongs[b, r]
                alongs[k, r] = alongs[b, r] + z[node, begin + r] * difference
                z_slope[node, begin + r] = shares[k, r] * difference
        else:
            for r in range(m):  # as in `share_block`
                alongs[k, r] = max(z[node, begin + r] * inverse, -half)
            for r in range(m):
                u = min(alongs[k, r], half)
                difference = alongs[a, r] - alongs[b, r]
                alongs[k, r] = alongs[b, r] + (half + u * (linear - cubic * u * u)) * difference
                z_slope[node, begin + r] = shares[k, r] * difference * ((linear - square * u * u) * inverse)


def route_slopes(z, gamma, value, trees, shares, alongs, slope, z_slope, value_slope):
    """Derivatives by `z` and `value`, of a loss whose derivative by the sums is `slope` (n_trees, n_outputs, n).

    `z_slope` (n_gates, n) is filled, `value_slope` (n_leaves, n_outputs) is zeros.
    """
    n = z.shape[1]
    for t in range(trees.gates.shape[0] - 1):
        for begin in range(0, n, BLOCK):
            end = min(n, begin + BLOCK)
            share_block(z, gamma, begin, end, trees.gates[t], trees, t, shares)
            leaf_slopes(t, begin, end, value, trees, shares, slope, alongs, value_slope)
            gate_slopes(z, gamma, begin, end, trees.gates[t], trees, t, shares, alongs, z_slope)
