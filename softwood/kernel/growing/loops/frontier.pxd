cdef packed struct OpenNode:
    i64 node
    i64 parent
    i64 side
    i64 depth
    i64 begin
    i64 size
    u64 seed
    f64 min_mass
    i64 feature
    f64 threshold
    f64 missing_left
    f64 gain


cdef packed struct Counts:
    i64 n_nodes
    i64 n_waiting
    i64 n_open
    i64 n_rows
    i64 n_splits
    i64 most_splits
    i64 most_nodes
    i64 few_rows


cdef class Frontier:
    cdef Counts[::1] counts
    cdef const u8[::1] stop
    cdef Node[::1] lines
    cdef f64[:, ::1] sums
    cdef OpenNode[::1] stack
    cdef f64[:, :, ::1] intervals
    cdef OpenNode[::1] heap
    cdef f64[::1] gains
    cdef u32[::1] rows
    cdef f64[::1] shares
    cdef u32[:, ::1] subsets


@cython.locals(n_waiting=i64)
cdef bint is_full(Frontier frontier) noexcept nogil

@cython.locals(node=i64)
cdef void visit(Frontier frontier, i64 at) noexcept nogil

@cython.locals(j=i64, parent=i64)
cdef void find_intervals(const Node[::1] lines, i64 node, f64[:, ::1] intervals) noexcept nogil

@cython.locals(j=i64)
cdef void split_intervals(f64[:, :, ::1] intervals, i64 at, i64 feature, f64 threshold) noexcept nogil

@cython.locals(k=i64)
cdef void append_rows(const u32[::1] left_rows, const f64[::1] left_shares, i64 n, u32[::1] rows, f64[::1] shares, i64 end) noexcept nogil

cdef bint comes_before(const OpenNode[::1] nodes, i64 one, const OpenNode[::1] others, i64 other) noexcept nogil

@cython.locals(above=i64, place=i64)
cdef void push_open(Frontier frontier, i64 at) noexcept nogil

@cython.locals(below=i64, last=i64, place=i64)
cdef void pop_open(Frontier frontier) noexcept nogil
