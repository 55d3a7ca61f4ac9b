@cython.locals(largest=i64, o=i64)
cdef void add_loss(const f64[:, ::1] prediction, const f64[:, ::1] truth, i64 i, f64 weight, bint counts_wrong, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(begin="i64[::1]", below=i64, child="i64[:, ::1]", end=i64, feature=i64, first=i64, i=i64, intervals="f64[:, ::1]", k=i64, left_rows="u32[::1]", left_shares="f64[::1]", m=i64, more="u32[::1]", more_shares="f64[::1]", n_left=i64, n_nodes=i64, n_right=i64, n_rows=i64, node=i64, node_rows="u32[::1]", o=i64, place="i64[::1]", prediction="f64[:, ::1]", capacity=i64, shares="f64[::1]", side=i64, size="i64[::1]", step=i64, touched="i64[::1]")
cdef void losses_by_size(Bins bins, const f64[::1] widths, Kernels kernels, const Node[::1] lines, const u32[:, ::1] subsets, const i64[::1] order, const f64[:, ::1] values, const u32[::1] rows, const f64[:, ::1] truth, const f64[::1] weights, bint counts_wrong, f64[:, ::1] out) noexcept nogil
