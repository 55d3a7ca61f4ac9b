cdef packed struct Open:
    i64 begin
    i64 size
    i64 feature
    f64 gain
    f64 threshold
    f64 missing_left
    f64 least


cdef class OpenPile:
    cdef i64[::1] state
    cdef const u8[::1] stop
    cdef Node[::1] lines
    cdef f64[:, ::1] sums
    cdef Open[::1] nodes
    cdef u64[::1] seeds
    cdef i64[::1] heap
    cdef i64[::1] order
    cdef f64[:, ::1] intervals
    cdef u32[::1] rows
    cdef f64[::1] shares
    cdef u32[:, ::1] subsets


@cython.locals(j=i64, parent=i64)
cdef void find_intervals(const Node[::1] lines, i64 node, f64[:, ::1] intervals) noexcept nogil

cdef bint comes_before(const Open[::1] nodes, i64 one, i64 other) noexcept nogil

@cython.locals(above=i64, place=i64)
cdef void open_node(const Open[::1] nodes, i64[::1] heap, i64 n, i64 node) noexcept nogil

@cython.locals(below=i64, last=i64, place=i64)
cdef void close_first(const Open[::1] nodes, i64[::1] heap, i64 n) noexcept nogil

cdef void enter_child(Node[::1] lines, i64 child, i64 parent, i64 side) noexcept nogil

@cython.locals(begin=i64, best=i64, end=i64, feature=i64, first=i64, k=i64, m=i64, n_left=i64, n_outputs=i64, n_right=i64, node=i64, side=i64)
cdef bint grow_best_first(Bins bins, const f64[::1] widths, Kernels kernels, const i32[::1] labels, Targets targets, Rules rules, i64 criterion, OpenPile pile, Desk desk, Search search, RandomSearch random) noexcept nogil
