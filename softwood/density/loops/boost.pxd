cdef packed struct Node:
    i32 parent
    i32 side
    i32 depth
    i32 feature
    f64 threshold
    f64 missing_left
    f64 h
    f64 g
    f64 w
    f64 value


cdef class Columns:
    cdef const code[:, ::1] codes


cdef class Pile:
    cdef i64[::1] state
    cdef i64[::1] free
    cdef Leaf[::1] leaves
    cdef f64[:, ::1] splits
    cdef f64[:, :, ::1] bounds
    cdef Node[::1] nodes
    cdef u32[::1] rows
    cdef u32[::1] left_rows
    cdef f64[::1] parts
    cdef f64[::1] shares
    cdef f64[::1] left_shares
    cdef u32[:, ::1] subsets
    cdef u32[:, ::1] node_subsets


@cython.locals(j=i64, n_slots=i64, slot=i64)
cdef void begin_tree(i64[::1] state, i64[::1] free, Leaf[::1] leaves, f64[:, :, ::1] bounds) noexcept nogil

@cython.locals(c=i64, n_bins=i64, offset=i64)
cdef void set_parts(Bins bins, i64 j, f64 width, (f64, f64) split, (f64, f64) interval, f64[::1] parts) noexcept nogil

@cython.locals(c=i64, n_bins=i64, offset=i64)
cdef void set_category_parts(Bins bins, i64 j, const u32[:, ::1] subsets, i64 leaf, f64 missing_left, f64[::1] parts) noexcept nogil

@cython.locals(i=u32, is_left=bint, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) divide_by_bin(const code[:, ::1] codes, i64 j, const f64[::1] parts, u32[::1] rows, f64[::1] shares, i64 begin, i64 m, f64 cutoff, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

@cython.locals(k=i64)
cdef void place_smaller(u32[::1] rows, f64[::1] shares, i64 begin, i64 end, i64 n_left, i64 n_right, const u32[::1] left_rows, const f64[::1] left_shares) noexcept nogil

@cython.locals(begin=i64, i=i64, k=i64)
cdef void set_sums(Leaf[::1] leaves, i64 leaf, const u32[::1] rows, const f64[::1] shares, const f64[:, ::1] rows_sums) noexcept nogil

@cython.locals(best=i64, leaf=i64)
cdef i64 next_leaf(const Leaf[::1] leaves, i64 n_leaves, bint best_first) noexcept nogil

@cython.locals(line=i64)
cdef void write_line(Node[::1] nodes, const Leaf[::1] leaves, i64 leaf, i64 parent, i64 side, f64 l2) noexcept nogil

cdef void limit_children(Leaf[::1] leaves, i64 leaf, i64 other, i64 direction, f64 l2) noexcept nogil

cdef void free_slot(const Leaf[::1] leaves, i64 leaf, i64[::1] free, i64[::1] state) noexcept nogil

@cython.locals(begin=i64, by_set=bint, child=i64, depth=i64, direction=i64, end=i64, interval="(f64, f64)", is_left=bint, j=i64, k=i64, large=i64, line=i64, n_left=i64, n_right=i64, other=i64, side=i64, small=i64, word=i64)
cdef (i64, i64) split_leaf(i64 leaf, Bins bins, Columns columns, Edges edges, const f64[:, ::1] rows_sums, Pile pile, const i64[::1] directions, Rules rules) noexcept nogil

@cython.locals(leaf=i64, line=i64)
cdef void settle_leaves(Leaf[::1] leaves, i64 n_leaves, Node[::1] nodes, const u32[::1] rows, const f64[::1] shares, const f64[:, ::1] rows_sums, f64 l2) noexcept nogil

@cython.locals(large=i64, leaf=i64, may_large=bint, small=i64, too_short=bint)
cdef void next_search(Bins bins, Columns columns, Edges edges, const f64[:, ::1] rows_sums, const i64[::1] directions, Rules rules, Pile pile) noexcept nogil

@cython.locals(j=i64, leaf=i64, side=i64, split="(f64, f64)")
cdef void end_search(Bins bins, const i64[::1] features, Rules rules, Pile pile, SearchSpace space) noexcept nogil

cdef i64 search_cost(i64 size, i64 n_bins, bint is_soft) noexcept nogil

@cython.locals(b=i64, is_soft=bint, n_blocks=i64, size=i64)
cdef void grow_boosted(Bins bins, Columns columns, Edges edges, const f64[:, ::1] rows_sums, const i64[::1] features, const i64[::1] directions, Rules rules, Pile pile, SearchSpace space, i64 most) noexcept nogil

@cython.locals(begin=i64, k=i64, leaf=i64)
cdef void add_leaf_values(const Leaf[::1] leaves, i64 n_leaves, const u32[::1] rows, const f64[::1] shares, const Node[::1] nodes, f64[::1] scores) noexcept nogil
