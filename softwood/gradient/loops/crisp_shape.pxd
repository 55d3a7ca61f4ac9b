@cython.locals(node=i64, o=i64, parent=i64, q=i64)
cdef void fill_values(const f64[::1] mass, const f64[:, ::1] sums, f64 prior, f64[:, ::1] values) noexcept nogil

@cython.locals(i=i64, node=i64, o=i64)
cdef void add_squares(Rows rows, const i64[::1] bottom, f64[::1] squares) noexcept nogil

@cython.locals(node=i64, o=i64, q=i64)
cdef void fill_losses(const f64[::1] mass, const f64[:, ::1] sums, const f64[::1] squares, const f64[:, ::1] values, bint is_class, f64[::1] losses) noexcept nogil

@cython.locals(largest=i64, node=i64, o=i64)
cdef void fill_node_errors(const f64[::1] mass, const f64[:, ::1] sums, const f64[:, ::1] values, f64[::1] errors) noexcept nogil

@cython.locals(n_inner=i64, node=i64)
cdef void prune(const f64[::1] losses, f64 cost, f64[::1] below, u8[::1] is_split) noexcept nogil

@cython.locals(child=i64, n_inner=i64, n_splits=i64, node=i64)
cdef (i64, f64) add_leaves(const f64[::1] judged, const u8[::1] is_split) noexcept nogil

@cython.locals(is_right=bint, k=i64, n=i64, n_inner=i64, node=i64, right=i64)
cdef i64 order_splits(const u8[::1] is_split, i64[::1] splits, i64[::1] place) noexcept nogil

