@cython.locals(d=i64, j=i64)
cdef inline void _add_rows(const f64[:, ::1] points, i64 i, f64 p, f64 q, f64 r, f64 s, f64[::1] out) noexcept nogil

@cython.locals(d=i64, j=i64)
cdef inline void _add_row(const f64[:, ::1] points, i64 i, f64 p, f64[::1] out) noexcept nogil

@cython.locals(i=i64, j=i64, n=i64, whole=i64)
cdef void _multiply_back(const f64[:, ::1] points, const f64[::1] v, f64[::1] out) noexcept nogil

@cython.locals(i=i64, j=i64, k=i64, n=i64, whole=i64)
cdef void _multiply_both(const f64[:, ::1] points, const f64[::1] w, const f64[::1] curvature, f64[::1] v, f64[::1] out) noexcept nogil

@cython.locals(changes="f64[::1]", curvature="f64[::1]", d=i64, direction="f64[::1]", gradient="f64[::1]", i=i64, inputs="f64[::1]", j=i64, n=i64, product="f64[::1]", residual="f64[::1]", step="f64[::1]", v="f64[::1]")
cdef void logistic_gate(const f64[:, ::1] points, const f64[::1] sides, const f64[::1] weights, f64 penalty, f64[::1] gate) noexcept nogil

@cython.locals(a=i64, b=i64, begin=i64, begins="i64[::1]", d=i64, end=i64, ends="i64[::1]", feature=i64, i=i64, is_divided=bint, is_left="u8[::1]", j=i64, k=i64, middle=i64, n=i64, n_inner=i64, n_left=i64, node=i64, spare="i64[::1]", sums="f64[:, ::1]")
cdef void column_gates(Rows rows, i64[:, ::1] orders, f64[:, ::1] gates) noexcept nogil
