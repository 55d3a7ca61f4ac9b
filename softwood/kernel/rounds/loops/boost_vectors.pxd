@cython.locals(i=i64, o=i64)
cdef void project_rows(const f64[:, ::1] gradient, const f64[:, ::1] hessian, const f64[::1] direction, f64[:, ::1] rows_sums) noexcept nogil

@cython.locals(begin=i64, i=i64, k=i64, leaf=i64, line=i64, o=i64)
cdef void add_vectors(i64 first, i64 last, const Leaf[::1] leaves, const u32[::1] rows, const f64[::1] shares, const f64[:, ::1] gradient, const f64[:, ::1] hessian, f64[:, :, ::1] sums) noexcept nogil

@cython.locals(begin=i64, end=i64, i=i64, k=i64, leaf=i64, line=i64, o=i64)
cdef void add_leaf_vectors(const Leaf[::1] leaves, const u32[::1] rows, const f64[::1] shares, const f64[:, ::1] values, i64 first, i64 last, f64[:, ::1] scores) noexcept nogil
