@cython.locals(j=i64, line=i64)
cdef void set_gates(const Node[::1] nodes, const f64[::1] widths, const i64[::1] n_categories, Gate[::1] gates, f64[::1] missing_left, f64[::1] thresholds, f64[::1] half_widths) noexcept nogil

@cython.locals(begin=i64, n=i64)
cdef void read_rows(const f64[:, ::1] points, const f64[:, ::1] cells, i64 block, KernelTrees trees, Lists lists, const f64[:, ::1] value, f64[:, ::1] out) noexcept nogil
