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
    cdef u32[::1] right_rows
    cdef f64[::1] parts
    cdef i64[:, ::1] counts
    cdef f64[:, ::1] sums
    cdef f64[::1] shares
    cdef f64[::1] left_shares
    cdef f64[::1] right_shares
    cdef u32[:, ::1] subsets
    cdef u32[:, ::1] node_subsets


@cython.locals(j=i64, n_slots=i64, slot=i64)
cdef void begin_tree(i64[::1] state, i64[::1] free, Leaf[::1] leaves, f64[:, :, ::1] bounds) noexcept nogil

@cython.locals(c=i64, n_bins=i64, offset=i64)
cdef void set_parts(Bins bins, i64 j, const f64[::1] reach, (f64, f64) split, (f64, f64) interval, f64[::1] parts) noexcept nogil

@cython.locals(c=i64, n_bins=i64, offset=i64)
cdef void set_category_parts(Bins bins, i64 j, const u32[:, ::1] subsets, i64 leaf, f64 missing_left, f64[::1] parts) noexcept nogil

@cython.locals(interval="(f64, f64)", j=i64)
cdef void set_leaf_parts(i64 leaf, Bins bins, Edges edges, Pile pile) noexcept nogil

@cython.locals(i=u32, is_left=bint, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) divide_rows(const code[:, ::1] codes, i64 j, f64 cutoff, Pile pile, i64 begin, i64 end, i64 left_at, i64 right_at, bint is_apart) noexcept nogil

@cython.locals(i=i64, k=i64)
cdef (f64, f64, f64) sum_rows(const u32[::1] rows, const f64[::1] shares, i64 begin, i64 end, const f64[:, ::1] rows_sums) noexcept nogil

@cython.locals(k=i64)
cdef void copy_rows(const u32[::1] rows, const f64[::1] shares, i64 begin, i64 end, u32[::1] new_rows, f64[::1] new_shares, i64 at) noexcept nogil

@cython.locals(b=i64, n_left=i64, n_right=i64)
cdef (i64, i64) count_sides(const i64[:, ::1] counts, i64 n_blocks) noexcept nogil

@cython.locals(b=i64, begin=i64, end=i64, first=i64, j=i64, last=i64, left=i64, n_blocks=i64, n_left=i64, n_right=i64, right=i64, side=i64, size=i64)
cdef void divide_leaf(i64 leaf, Columns columns, const f64[:, ::1] rows_sums, Pile pile, f64 cutoff) noexcept nogil

@cython.locals(b=i64, begin=i64, first=i64, j=i64, last=i64, leaf=i64, left=i64, n_blocks=i64, right=i64, size=i64)
cdef void divide_block((i64, i64) place, Columns columns, Pile pile, f64 cutoff) noexcept nogil

@cython.locals(at=i64, b=i64, begin=i64, first=i64, last=i64, leaf=i64, left=i64, left_at=i64, n_blocks=i64, n_left=i64, n_right=i64, right=i64, right_at=i64, size=i64)
cdef void place_block((i64, i64) place, const f64[:, ::1] rows_sums, Pile pile) noexcept nogil

@cython.locals(begin=i64, end=i64)
cdef void set_sums(Leaf[::1] leaves, i64 leaf, const u32[::1] rows, const f64[::1] shares, const f64[:, ::1] rows_sums) noexcept nogil

@cython.locals(best=i64, leaf=i64)
cdef i64 next_leaf(const Leaf[::1] leaves, i64 n_leaves, bint best_first) noexcept nogil

@cython.locals(line=i64)
cdef void write_line(Node[::1] nodes, const Leaf[::1] leaves, i64 leaf, i64 parent, i64 side, f64 l2) noexcept nogil

cdef void limit_children(Leaf[::1] leaves, i64 leaf, i64 other, i64 direction, f64 l2) noexcept nogil

cdef void free_slot(const Leaf[::1] leaves, i64 leaf, i64[::1] free, i64[::1] state) noexcept nogil

@cython.locals(b=i64, begin=i64, by_set=bint, child=i64, depth=i64, direction=i64, end=i64, is_left=bint, j=i64, k=i64, large=i64, line=i64, n_blocks=i64, n_left=i64, n_right=i64, other=i64, side=i64, small=i64, word=i64)
cdef (i64, i64) split_leaf(i64 leaf, Bins bins, Pile pile, const i64[::1] directions, Rules rules) noexcept nogil

@cython.locals(line=i64)
cdef void settle_leaf(i64 leaf, Pile pile, const f64[:, ::1] rows_sums, f64 l2) noexcept nogil

@cython.locals(leaf=i64)
cdef void settle_leaves(Pile pile, const f64[:, ::1] rows_sums, f64 l2) noexcept nogil

cdef bint is_too_short(Pile pile, i64 leaf) noexcept nogil

@cython.locals(large=i64, leaf=i64, may_large=bint, small=i64)
cdef void next_search(Bins bins, Columns columns, Edges edges, const f64[:, ::1] rows_sums, const i64[::1] directions, Rules rules, Pile pile, i64 most_rows) noexcept nogil

@cython.locals(j=i64, leaf=i64, side=i64, split="(f64, f64)")
cdef void end_search(Bins bins, const i64[::1] features, Rules rules, Pile pile, SearchSpace space) noexcept nogil

cdef i64 search_cost(i64 size, i64 n_bins, bint is_soft) noexcept nogil

@cython.locals(b=i64, is_soft=bint, n_blocks=i64, size=i64)
cdef void grow_boosted(Bins bins, Columns columns, Edges edges, const f64[:, ::1] rows_sums, const i64[::1] features, const i64[::1] directions, Rules rules, Pile pile, SearchSpace space, i64 most, i64 most_rows) noexcept nogil

@cython.locals(middle=i64)
cdef i64 first_row(const u32[::1] rows, i64 begin, i64 end, i64 row) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64, leaf=i64)
cdef void add_leaf_values(const Leaf[::1] leaves, const u32[::1] rows, const f64[::1] shares, const Node[::1] nodes, i64 first, i64 last, f64[::1] scores) noexcept nogil
