@cython.locals(w=i64)
cdef void keep_set(const u32[:, ::1] found, u32[:, ::1] subsets, i64 node) noexcept nogil

@cython.locals(begin=i64, feature=i64, here=OpenNode, m=i64, node=i64, seed=u64)
cdef void search_node(Bins bins, const f64[::1] widths, Kernels kernels, const i32[::1] labels, const f64[:, ::1] targets, Rules rules, i64 criterion, Frontier frontier, i64 at, NodeScratch scratch, Search search, RandomSearch random) noexcept nogil

@cython.locals(begin=i64, child=i64, depth=i64, end=i64, feature=i64, here=OpenNode, m=i64, n_left=i64, n_right=i64, node=i64, seed=u64, side=i64)
cdef void divide_node(Bins bins, const f64[::1] widths, Kernels kernels, const f64[:, ::1] targets, Rules rules, Frontier frontier, i64 at, NodeScratch scratch) noexcept nogil

@cython.locals(at=i64, is_last=bint, k=i64)
cdef bint grow(Bins bins, const f64[::1] widths, Kernels kernels, const i32[::1] labels, const f64[:, ::1] targets, Rules rules, i64 criterion, bint by_gain, Frontier frontier, NodeScratch scratch, Search search, RandomSearch random) noexcept nogil
